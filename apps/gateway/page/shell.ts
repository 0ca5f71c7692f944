import { html, type TemplateResult } from 'lit-html'
import { createDialogs } from '#libs/page-parts/dialogs.ts'
import { createPageLayout } from '#libs/page-parts/page-layout.ts'
import type { Loading } from '#libs/page-parts/load.ts'
import type { Route } from '#libs/page-parts/route.ts'
import type { OwnKey } from '#libs/account-contract/resources/own.ts'
import type { App } from './app.ts'

const PLACES = [
  { name: 'Overview', path: '' },
  { name: 'Requests', path: 'requests' },
  { name: 'Use it', path: 'use' },
] as const

/** The additional screen of a management key. */
const KEYS = { name: 'Keys', path: 'keys' } as const

export type Shell = {
  readonly forScreens: Pick<App, 'openDialog' | 'closeDialog' | 'say'>
  view(route: Route | undefined, screen: TemplateResult): TemplateResult
  /** Must be called when the viewer has come to another screen. */
  arrive(): void
  close(): void
}

/** Creates the layout around every screen: navigation, the key, one dialog, and the latest message. */
export function createShell(deps: {
  key: Loading<OwnKey>
  redraw: () => void
  onSignedOut: () => void
}): Shell {
  const { key, redraw, onSignedOut } = deps
  const dialogs = createDialogs(redraw)
  const layout = createPageLayout({ dialogs, redraw })
  return {
    forScreens: dialogs.forScreens,
    arrive: () => layout.arrive(),
    view(route, screen) {
      const first = route?.path[0] ?? ''
      return layout.view({
        places: key.value?.is_management_key === true ? [...PLACES, KEYS] : PLACES,
        current: first === 'request' ? 'requests' : first,
        viewer: html`<span>${showKey(key.value)}</span>`,
        signOut: onSignedOut,
        screen,
      })
    },
    close: () => dialogs.close(),
  }
}

function showKey(key: OwnKey | undefined): TemplateResult {
  if (key === undefined) return html``
  const label = html`<code class="id">${key.label}</code>`
  return key.name === null ? label : html`<bdi>${key.name}</bdi> · ${label}`
}
