import type { TemplateResult } from 'lit-html'

/** The parts of its page that every screen may use. */
export type PageApp = {
  /** Draws the page again, once a frame at most. */
  redraw(): void
  /** Shows a dialog; `content` is called at each drawing. */
  openDialog(content: () => TemplateResult): void
  closeDialog(): void
  /** A sentence about what has just been done. */
  say(text: string): void
}

/** One screen. It draws what it has; `close` ends what it still waits for. */
export type Screen = {
  readonly title: string
  view(): TemplateResult
  close(): void
}
