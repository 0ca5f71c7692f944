import { html, nothing, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import { signOut, type Answer } from './api.ts'
import type { App } from './app.ts'
import { KEYS, listenForKeys, PLACES } from './keys.ts'
import { showFailure, toFailure } from './parts/load.ts'
import { toHash, type Route } from './route.ts'
import { currentTheme, switchTheme } from './theme.ts'

/** How long a sentence about something that was done stays. */
const SAID_MS = 6_000

/** Screens without a place of their own in the navigation stand below another. */
const PARENTS: Readonly<Record<string, string>> = { account: 'accounts', model: '', request: 'requests' }

export type Shell = {
  readonly forScreens: Pick<App, 'openDialog' | 'closeDialog' | 'say'>
  view(route: Route | undefined, screen: TemplateResult): TemplateResult
  /** Another screen: it begins at its top, and screen readers read its heading. */
  arrive(): void
  close(): void
}

/** What stands around every screen: navigation, search, the viewer, one dialog, and what was just said. */
export function createShell(deps: { me: Answer<'/me'>; redraw: () => void; onSignedOut: () => void }): Shell {
  const { me, redraw, onSignedOut } = deps
  let dialog: (() => TemplateResult) | undefined
  let said = ''
  let saidTimer: ReturnType<typeof setTimeout> | undefined
  let arrived = false

  const forScreens: Shell['forScreens'] = {
    openDialog(content) {
      dialog = content
      redraw()
    },
    closeDialog() {
      dialog = undefined
      redraw()
    },
    say(text) {
      said = text
      clearTimeout(saidTimer)
      saidTimer = setTimeout(() => {
        said = ''
        redraw()
      }, SAID_MS)
      redraw()
    },
  }

  async function leave(): Promise<void> {
    try {
      await signOut()
      onSignedOut()
    } catch (error) {
      const failure = toFailure(error)
      forScreens.openDialog(
        () =>
          html`<h2 id="dialog-title">Sign out</h2>
            ${showFailure(failure)}`,
      )
    }
  }

  function search(event: SubmitEvent): void {
    event.preventDefault()
    if (!(event.target instanceof HTMLFormElement)) return
    const text = new FormData(event.target).get('q')
    if (typeof text === 'string' && text.trim() !== '')
      location.hash = toHash(['find'], { q: shorten(text.trim()) })
  }

  const stopKeys = listenForKeys({
    isBlocked: () => dialog !== undefined,
    openHelp: () => forScreens.openDialog(showKeys),
  })

  return {
    forScreens,
    arrive() {
      arrived = true
      dialog = undefined
    },
    view(route, screen) {
      const first = route?.path[0] ?? ''
      const place = PARENTS[first] ?? first
      return html`<a class="skip" href="#content" @click=${skip}>Skip to the content</a>
        <header class="top">
          <a class="brand" href="#/">Millrace</a>
          <nav aria-label="Screens">
            <ul>
              ${PLACES.map(
                ({ name, path }) =>
                  html`<li>
                    <a
                      href=${toHash(path === '' ? [] : [path])}
                      aria-current=${place === path ? 'page' : nothing}
                      >${name}</a
                    >
                  </li>`,
              )}
            </ul>
          </nav>
          <form class="search" role="search" @submit=${search}>
            <input
              id="search"
              name="q"
              type="search"
              autocomplete="off"
              spellcheck="false"
              aria-label="Search an id, a key or an account"
              placeholder="id, key, account   /"
            />
          </form>
          <div class="viewer">
            <span title="Signed in as ${me.name}"><bdi>${me.name}</bdi> · ${me.role}</span>
            <button type="button" class="quiet" @click=${() => turn()}>theme: ${currentTheme()}</button>
            <button type="button" class="quiet" @click=${() => void leave()}>sign out</button>
          </div>
        </header>
        <main id="content" tabindex="-1" ${ref(focusWhenArrived)}>${screen}</main>
        <p class="said" role="status">${said}</p>
        ${
          dialog === undefined
            ? nothing
            : html`<dialog
                aria-labelledby="dialog-title"
                ${ref(showModal)}
                @close=${() => forScreens.closeDialog()}
                @cancel=${() => forScreens.closeDialog()}
              >
                ${dialog()}
              </dialog>`
        }`
    },
    close() {
      clearTimeout(saidTimer)
      stopKeys()
    },
  }

  function turn(): void {
    switchTheme()
    redraw()
  }

  function focusWhenArrived(element: Element | undefined): void {
    if (!arrived || !(element instanceof HTMLElement)) return
    arrived = false
    scrollTo(0, 0)
    element.focus({ preventScroll: true })
  }
}

/** The address stays in the browser's history, so no secret may be in it: its ends are enough to find its key. */
function shorten(text: string): string {
  return text.length > 16 && text.startsWith('mr_live_') ? `${text.slice(0, 12)}…${text.slice(-4)}` : text
}

function skip(event: Event): void {
  // The address belongs to the screens.
  event.preventDefault()
  document.getElementById('content')?.focus()
}

/** After the drawing: lit-html makes elements before it puts them into the document. */
function showModal(element: Element | undefined): void {
  queueMicrotask(() => {
    if (!(element instanceof HTMLDialogElement) || element.open || !element.isConnected) return
    element.showModal()
    const field = element.querySelector('input, select, textarea')
    if (field instanceof HTMLElement) field.focus()
  })
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
