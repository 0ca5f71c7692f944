import type { PageApp, Screen } from '#libs/page-parts/page-app.ts'
import type { Route } from '#libs/page-parts/route.ts'
import type { Answer } from './api.ts'

export type Settings = {
  readonly version: string
  readonly grafanaUrl: string | null
  /** Below which runbooks are. */
  readonly docsUrl: string | null
}

/** What a screen has of the rest of the console. */
export type App = PageApp & { readonly me: Answer<'/me'>; readonly settings: Settings }

export type OpenScreen = (app: App, route: Route) => Screen
