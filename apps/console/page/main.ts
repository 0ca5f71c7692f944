import { html, render, type TemplateResult } from 'lit-html'
import { read, readJson, whenSignedOut, Failure, type Answer } from './api.ts'
import type { App, Screen, Settings } from './app.ts'
import { copyWholes } from './parts/id.ts'
import { showFailure, toFailure } from './parts/load.ts'
import { parseRoute, type Route } from './route.ts'
import { findScreen } from './screens.ts'
import { createShell } from './shell.ts'
import { applyTheme } from './theme.ts'
import { createSignIn, takeTicket } from './views/sign-in.ts'

const place = document.getElementById('app')
if (place === null) throw new Error('the document has no place for the console')

applyTheme()
document.addEventListener('copy', copyWholes)
start(place)

/** Signs in, then shows the screen of the address. Everything drawn on the page is drawn by `draw`. */
function start(place: HTMLElement): void {
  let view: () => TemplateResult = () => html`<p class="boot">Loading the console …</p>`
  let isDrawing = false
  let endScreens = () => {}

  // The document's own sentence, for the time before this module.
  place.replaceChildren()

  function redraw(): void {
    if (isDrawing) return
    isDrawing = true
    requestAnimationFrame(() => {
      isDrawing = false
      render(view(), place)
    })
  }

  function askToSignIn(reason?: string): void {
    endScreens()
    endScreens = () => {}
    document.title = 'Sign in · Millrace'
    view = createSignIn({ redraw, onSignedIn: () => void enter(), reason })
    redraw()
  }

  async function enter(): Promise<void> {
    try {
      const [me, settings] = await Promise.all([read('/me', {}), readSettings()])
      endScreens()
      const screens = showScreens({ me, settings, redraw, askToSignIn })
      view = screens.view
      endScreens = screens.close
    } catch (error) {
      const failure = toFailure(error)
      if (failure.status === 401) return askToSignIn()
      view = () => html`<main class="boot">${showFailure(failure, () => void enter())}</main>`
    }
    redraw()
  }

  redraw()
  whenSignedOut(() => askToSignIn('Your session has ended.'))
  const ticket = takeTicket()
  if (ticket === undefined) void enter()
  else {
    view = createSignIn({ redraw, onSignedIn: () => void enter(), ticket })
    redraw()
  }
}

/** The shell around the screen of the address, until the viewer signs out. */
function showScreens(deps: {
  me: Answer<'/me'>
  settings: Settings
  redraw: () => void
  askToSignIn: (reason?: string) => void
}): { view: () => TemplateResult; close: () => void } {
  const { me, settings, redraw } = deps
  const shell = createShell({ me, redraw, onSignedOut: () => deps.askToSignIn('You have signed out.') })
  const app: App = { me, settings, redraw, ...shell.forScreens }
  let screen: Screen | undefined
  let failure: Failure | undefined
  let shown: Route | undefined

  async function follow(): Promise<void> {
    const route = parseRoute(location.hash)
    const isSameScreen = shown?.path.join('/') === route.path.join('/')
    shown = route
    try {
      const open = await findScreen(route)
      if (shown !== route) return
      screen?.close()
      screen = open(app, route)
      failure = undefined
    } catch (error) {
      failure = toFailure(error)
    }
    document.title = `${screen?.title ?? 'Console'} · Millrace`
    if (!isSameScreen) shell.arrive()
    redraw()
  }

  const onHash = () => void follow()
  addEventListener('hashchange', onHash)
  void follow()
  return {
    view: () =>
      shell.view(
        shown,
        failure === undefined
          ? (screen?.view() ?? html`<p class="waiting">Loading …</p>`)
          : showFailure(failure, () => void follow()),
      ),
    close() {
      removeEventListener('hashchange', onHash)
      shell.close()
      screen?.close()
    },
  }
}

/** The console itself answers: what it sends is what it was compiled with. */
async function readSettings(): Promise<Settings> {
  const answer = await readJson('/api/settings')
  if (typeof answer !== 'object' || answer === null)
    throw new Failure(0, { code: 'unknown', message: 'No settings.' })
  const version = 'version' in answer && typeof answer.version === 'string' ? answer.version : 'unknown'
  const grafanaUrl =
    'grafanaUrl' in answer && typeof answer.grafanaUrl === 'string' ? answer.grafanaUrl : null
  return { version, grafanaUrl }
}
