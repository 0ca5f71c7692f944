import type { Loading } from '#libs/page-parts/load.ts'
import type { PageApp, Screen } from '#libs/page-parts/page-app.ts'
import type { Route } from '#libs/page-parts/route.ts'
import type { OwnKey } from '#libs/account-contract/resources/own.ts'
import type { Api } from './api.ts'

/** The parts of the page that a screen may use. */
export type App = PageApp & {
  readonly api: Api
  /** The key that is signed in, read again while the page is visible. */
  readonly key: Loading<OwnKey>
}

export type OpenScreen = (app: App, route: Route) => Screen
