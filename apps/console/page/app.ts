import type { TemplateResult } from 'lit-html'
import type { Answer } from './api.ts'
import type { Route } from './route.ts'

export type Settings = { readonly version: string; readonly grafanaUrl: string | null }

/** What a screen has of the rest of the page. */
export type App = {
  readonly me: Answer<'/me'>
  readonly settings: Settings
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

export type OpenScreen = (app: App, route: Route) => Screen
