import { html, type TemplateResult } from 'lit-html'
import { createDialogs } from '#libs/page-parts/dialogs.ts'
import { createPageLayout } from '#libs/page-parts/page-layout.ts'
import { showFailure, toFailure } from '#libs/page-parts/load.ts'
import { toHash, type Route } from '#libs/page-parts/route.ts'
import { signOut, type Answer } from './api.ts'
import type { App } from './app.ts'
import { KEYS, listenForKeys, PLACES } from './keys.ts'

/**
 * For each screen without an entry in the navigation: the first part of its address, and the entry that is marked
 * instead.
 */
const PARENTS: Readonly<Record<string, string>> = { account: 'accounts', model: '', request: 'requests' }

export type Shell = {
  readonly forScreens: Pick<App, 'openDialog' | 'closeDialog' | 'say'>
  view(route: Route | undefined, screen: TemplateResult): TemplateResult
  /** Must be called when the viewer opens another screen. */
  arrive(): void
  close(): void
}

/** Draws the frame around every screen: navigation, search, the viewer, one dialog, and the last message. */
export function createShell(deps: { me: Answer<'/me'>; redraw: () => void; onSignedOut: () => void }): Shell {
  const { me, redraw, onSignedOut } = deps
  const dialogs = createDialogs(redraw)
  const { openDialog } = dialogs.forScreens
  const layout = createPageLayout({ dialogs, redraw })

  async function leave(): Promise<void> {
    try {
      await signOut()
      onSignedOut()
    } catch (error) {
      const failure = toFailure(error)
      openDialog(
        () =>
          html`<h2 id="dialog-title">Sign out</h2>
            ${showFailure(failure)}`,
      )
    }
  }

  const stopKeys = listenForKeys({
    isBlocked: () => dialogs.isOpen,
    openHelp: () => openDialog(showKeys),
  })

  return {
    forScreens: dialogs.forScreens,
    arrive: () => layout.arrive(),
    view(route, screen) {
      const first = route?.path[0] ?? ''
      return layout.view({
        places: PLACES,
        current: PARENTS[first] ?? first,
        search: html`<form class="search" role="search" @submit=${search}>
          <input
            id="search"
            name="q"
            type="search"
            autocomplete="off"
            spellcheck="false"
            aria-label="Search an id, a key or an account"
            placeholder="id, key, account   /"
          />
        </form>`,
        viewer: html`<span title="Signed in as ${me.name}"><bdi>${me.name}</bdi> · ${me.role}</span>`,
        signOut: () => void leave(),
        screen,
      })
    },
    close() {
      dialogs.close()
      stopKeys()
    },
  }
}

function search(event: SubmitEvent): void {
  event.preventDefault()
  if (!(event.target instanceof HTMLFormElement)) return
  const text = new FormData(event.target).get('q')
  if (typeof text === 'string' && text.trim() !== '')
    location.hash = toHash(['find'], { q: shorten(text.trim()) })
}

/**
 * Returns the text of a search as the page's address may contain it. The address stays in the browser's history, so it
 * must not contain a key's whole secret. A secret is therefore shortened to its two ends, which are enough to find the
 * key.
 */
function shorten(text: string): string {
  return text.length > 16 && text.startsWith('mr_live_') ? `${text.slice(0, 12)}…${text.slice(-4)}` : text
}

function showKeys(): TemplateResult {
  return html`<h2 id="dialog-title">Keys</h2>
    <table>
      <tbody>
        ${KEYS.map(
          ({ keys, does }) =>
            html`<tr>
              <th scope="row"><kbd>${keys}</kbd></th>
              <td>${does}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <form method="dialog" class="buttons"><button class="primary">Close</button></form>`
}
