import type { TemplateResult } from 'lit-html'

/** The parts of its page that every screen may use. */
export type PageApp = {
  /** Draws the page again, once a frame at most. */
  redraw(): void
  /** Shows a dialog. `content` is called at each drawing. */
  openDialog(content: () => TemplateResult): void
  closeDialog(): void
  /** Shows a message about a completed action. */
  say(text: string): void
}

/** One screen. `close` ends its requests and timers. */
export type Screen = {
  readonly title: string
  view(): TemplateResult
  close(): void
}
