import { html, nothing, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import type { Dialogs } from './dialogs.ts'
import { toHash } from './route.ts'
import { currentTheme, switchTheme } from './theme.ts'

/** A screen of the navigation; the first one has an empty path. */
export type Place = { readonly name: string; readonly path: string }

export type PageLayout = {
  /**
   * Call this function when another screen is shown. It closes a dialog that is open. When the new screen is drawn, the
   * page is scrolled to the top, and the focus moves to the new screen, so that screen readers read its heading.
   */
  arrive(): void
  view(parts: {
    readonly places: readonly Place[]
    /** The path of the place that is shown. */
    readonly current: string
    readonly search?: TemplateResult
    /** The name of the signed-in viewer. */
    readonly viewer: TemplateResult
    signOut(): void
    readonly screen: TemplateResult
  }): TemplateResult
}

/** Draws the parts around every screen: navigation, the viewer, and the one dialog. */
export function createPageLayout({ dialogs, redraw }: { dialogs: Dialogs; redraw: () => void }): PageLayout {
  let arrived = false

  function focusWhenArrived(element: Element | undefined): void {
    if (!arrived || !(element instanceof HTMLElement)) return
    arrived = false
    scrollTo(0, 0)
    element.focus({ preventScroll: true })
  }

  function turn(): void {
    switchTheme()
    redraw()
  }

  return {
    arrive() {
      arrived = true
      dialogs.forScreens.closeDialog()
    },
    view: ({ places, current, search, viewer, signOut, screen }) =>
      html`<a class="skip" href="#content" @click=${skip}>Skip to the content</a>
        <header class="top">
          <a class="brand" href="#/">Millrace</a>
          <nav aria-label="Screens">
            <ul>
              ${places.map(
                ({ name, path }) =>
                  html`<li>
                    <a
                      href=${toHash(path === '' ? [] : [path])}
                      aria-current=${current === path ? 'page' : nothing}
                      >${name}</a
                    >
                  </li>`,
              )}
            </ul>
          </nav>
          ${search ?? nothing}
          <div class="viewer">
            ${viewer}
            <button type="button" class="quiet" @click=${turn}>theme: ${currentTheme()}</button>
            <button type="button" class="quiet" @click=${() => signOut()}>sign out</button>
          </div>
        </header>
        <main id="content" tabindex="-1" ${ref(focusWhenArrived)}>${screen}</main>
        ${dialogs.view()}`,
  }
}

function skip(event: Event): void {
  // The link must not change the address, which names the screen.
  event.preventDefault()
  document.getElementById('content')?.focus()
}
