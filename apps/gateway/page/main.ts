import { createDrawing } from '#libs/page-parts/drawing.ts'
import { followRoute } from '#libs/page-parts/follow-route.ts'
import { copyWholes } from '#libs/page-parts/id.ts'
import { load } from '#libs/page-parts/load.ts'
import { applyTheme } from '#libs/page-parts/theme.ts'
import { createApi, type Api } from './api.ts'
import type { App } from './app.ts'
import { findScreen } from './screens.ts'
import { createShell } from './shell.ts'
import { createSignIn } from './views/sign-in.ts'

/** How often the balance is read again while the page is visible. */
const EVERY_MS = 10_000

const place = document.getElementById('app')
if (place === null) throw new Error('the document has no place for the page')

applyTheme()
document.addEventListener('copy', copyWholes)
start(place)

/**
 * Asks for a key. Then shows the screen that the page's address names, until the viewer signs out or leaves. The key is
 * only in the memory of this page: in no storage, in no address, and in nothing that is drawn.
 */
function start(place: HTMLElement): void {
  const { show, redraw, drawNow } = createDrawing(place)
  let end: (() => void) | undefined
  /**
   * Counts the calls of `askForKey`. An attempt to sign in opens no screen if `askForKey` was called during the
   * attempt.
   */
  let asked = 0

  function askForKey(reason?: string): void {
    asked += 1
    end?.()
    end = undefined
    document.title = 'Sign in · Millrace'
    show(createSignIn({ redraw, reason, open: createSession }))
  }

  /** Resolves when the gateway has accepted the key. Throws a Failure. */
  async function createSession(apiKey: string): Promise<void> {
    const api = createApi({
      apiKey,
      onSignedOut: () => askForKey('The gateway no longer accepts the key.'),
    })
    const before = asked
    await api.readKey({ isQuiet: true })
    if (asked === before) enter(api)
  }

  function enter(api: Api): void {
    const key = load({ redraw }, async (signal) => await api.readKey({ signal }), { everyMs: EVERY_MS })
    const shell = createShell({ key, redraw, onSignedOut: () => askForKey('You have signed out.') })
    const app: App = { api, key, redraw, ...shell.forScreens }
    const screens = followRoute({
      name: 'Account',
      cannotDraw:
        'This screen cannot be drawn: the gateway is of another release than this page. Load the page again.',
      findScreen: async (route) => (await findScreen(route))(app, route),
      onArrived: () => shell.arrive(),
      redraw,
    })
    end = () => {
      screens.close()
      shell.close()
      key.close()
    }
    show(() => shell.view(screens.route, screens.view()))
  }

  // A browser may keep the page for its back button. The kept page has neither the key nor the data that was read with
  // the key.
  addEventListener('pagehide', () => {
    askForKey('You have left the page, so its key is forgotten.')
    drawNow()
    const field = document.getElementById('key')
    if (field instanceof HTMLInputElement) field.value = ''
  })
  askForKey()
}
