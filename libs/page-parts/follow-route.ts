import { html, type TemplateResult } from 'lit-html'
import { Failure } from './failure.ts'
import { showFailure, toFailure } from './load.ts'
import type { Screen } from './page-app.ts'
import { parseRoute, type Route } from './route.ts'

/** Shows the screen that the address names, and another one when the address changes, until `close` is called. */
export function followRoute(deps: {
  /** The name of the whole page, in the title of a screen that cannot be opened. */
  readonly name: string
  /** The sentence that is shown if drawing the screen fails; the browser's console has the cause. */
  readonly cannotDraw: string
  findScreen(route: Route): Promise<Screen>
  /** Called when the viewer has opened another screen. */
  onArrived(): void
  redraw(): void
}): { readonly route: Route | undefined; view(): TemplateResult; close(): void } {
  const { name, findScreen, onArrived, redraw } = deps
  let screen: Screen | undefined
  let failure: Failure | undefined
  let shown: Route | undefined
  let closed = false

  async function follow(route = parseRoute(location.hash)): Promise<void> {
    const isSameScreen = shown?.path.join('/') === route.path.join('/')
    shown = route
    try {
      const opened = await findScreen(route)
      if (closed || shown !== route) return opened.close()
      screen?.close()
      screen = opened
      failure = undefined
    } catch (error) {
      failure = toFailure(error)
    }
    document.title = `${screen?.title ?? name} · Millrace`
    if (!isSameScreen) onArrived()
    redraw()
  }

  /** Draws the screen. If that fails, an error is shown instead, so that the navigation stays. */
  function draw(): TemplateResult {
    try {
      if (failure === undefined) return screen?.view() ?? html`<p class="waiting">Loading …</p>`
    } catch (error) {
      console.error(error)
      screen?.close()
      screen = undefined
      failure = new Failure(0, { code: 'page', message: deps.cannotDraw })
    }
    return showFailure(failure, () => void follow())
  }

  function onHash(): void {
    const route = parseRoute(location.hash)
    // An empty address and `#/` name the same screen, which stays as it is.
    if (shown === undefined || !isSame(route, shown)) void follow(route)
  }
  addEventListener('hashchange', onHash)
  void follow()
  return {
    get route() {
      return shown
    },
    view: draw,
    close() {
      closed = true
      removeEventListener('hashchange', onHash)
      screen?.close()
    },
  }
}

function isSame(a: Route, b: Route): boolean {
  return a.path.join('/') === b.path.join('/') && a.query.toString() === b.query.toString()
}
