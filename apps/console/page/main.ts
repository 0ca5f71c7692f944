import { html } from 'lit-html'
import { createDrawing } from '#libs/page-parts/drawing.ts'
import { Failure } from '#libs/page-parts/failure.ts'
import { followRoute } from '#libs/page-parts/follow-route.ts'
import { copyWholes } from '#libs/page-parts/id.ts'
import { showFailure, toFailure } from '#libs/page-parts/load.ts'
import { applyTheme } from '#libs/page-parts/theme.ts'
import { read, readJson, whenSignedOut } from './api.ts'
import type { App, Settings } from './app.ts'
import { findScreen } from './screens.ts'
import { createShell } from './shell.ts'
import { createSignIn, takeTicket } from './views/sign-in.ts'

const CANNOT_DRAW =
  'This screen cannot be drawn. Billing may be of another release than this console; upgrade the older one.'

const place = document.getElementById('app')
if (place === null) throw new Error('the document has no place for the console')

applyTheme()
document.addEventListener('copy', copyWholes)
start(place)

/**
 * Lets the viewer sign in. Then shows the screen that the address names, inside the shell, until the viewer signs out.
 */
function start(place: HTMLElement): void {
  const { show, redraw } = createDrawing(place)
  let endScreens = () => {}

  function askToSignIn(reason?: string): void {
    endScreens()
    endScreens = () => {}
    document.title = 'Sign in · Millrace'
    show(createSignIn({ redraw, onSignedIn: () => void enter(), reason }))
  }

  async function enter(): Promise<void> {
    try {
      const [me, settings] = await Promise.all([read('/me', {}), readSettings()])
      endScreens()
      const shell = createShell({ me, redraw, onSignedOut: () => askToSignIn('You have signed out.') })
      const app: App = { me, settings, redraw, ...shell.forScreens }
      const screens = followRoute({
        name: 'Console',
        cannotDraw: CANNOT_DRAW,
        findScreen: async (route) => (await findScreen(route))(app, route),
        onArrived: () => shell.arrive(),
        redraw,
      })
      endScreens = () => {
        screens.close()
        shell.close()
      }
      show(() => shell.view(screens.route, screens.view()))
    } catch (error) {
      const failure = toFailure(error)
      if (failure.status === 401) return askToSignIn()
      show(() => html`<main class="boot">${showFailure(failure, () => void enter())}</main>`)
    }
  }

  whenSignedOut(() => askToSignIn('Your session has ended.'))
  const ticket = takeTicket()
  if (ticket === undefined) {
    show(() => html`<p class="boot">Loading the console …</p>`)
    void enter()
  } else show(createSignIn({ redraw, onSignedIn: () => void enter(), ticket }))
}

/** Reads the console's own settings. A field that is missing or is not text counts as unknown. */
async function readSettings(): Promise<Settings> {
  const answer = await readJson('/api/settings')
  if (typeof answer !== 'object' || answer === null)
    throw new Failure(0, { code: 'unknown', message: 'No settings.' })
  const version = 'version' in answer && typeof answer.version === 'string' ? answer.version : 'unknown'
  const grafanaUrl =
    'grafanaUrl' in answer && typeof answer.grafanaUrl === 'string' ? answer.grafanaUrl : null
  const docsUrl = 'docsUrl' in answer && typeof answer.docsUrl === 'string' ? answer.docsUrl : null
  return { version, grafanaUrl, docsUrl }
}
