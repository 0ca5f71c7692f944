import type { PageApp, Screen } from '#libs/page-parts/page-app.ts'
import type { Route } from '#libs/page-parts/route.ts'
import type { Answer } from './api.ts'

export type Settings = {
  readonly version: string
  readonly grafanaUrl: string | null
  /** The address below which runbooks are served. */
  readonly docsUrl: string | null
}

/** The parts of the console that a screen uses. */
export type App = PageApp & { readonly me: Answer<'/me'>; readonly settings: Settings }

export type OpenScreen = (app: App, route: Route) => Screen
