import { toHash } from '#libs/page-parts/route.ts'

/** The screens of the navigation, in order, with the key that goes there after `g`. */
export const PLACES = [
  { name: 'Now', path: '', key: 'n' },
  { name: 'Workers', path: 'workers', key: 'w' },
  { name: 'Requests', path: 'requests', key: 'r' },
  { name: 'Accounts', path: 'accounts', key: 'a' },
  { name: 'Money', path: 'money', key: 'm' },
  { name: 'Catalog', path: 'catalog', key: 'c' },
  { name: 'Log', path: 'log', key: 'l' },
] as const

export const KEYS: readonly { keys: string; does: string }[] = [
  { keys: '/', does: 'search' },
  ...PLACES.map(({ name, key }) => ({ keys: `g ${key}`, does: `go to ${name}` })),
  { keys: '?', does: 'this list' },
  { keys: 'Esc', does: 'close a dialog' },
]

/** How long `g` waits for its second key. */
const SECOND_KEY_MS = 1_500

/**
 * Handles the keys of `KEYS`, except Esc, which the browser handles, until the returned function is called. No key is
 * handled while the focus is in an input field, or while `isBlocked` returns true.
 */
export function listenForKeys(deps: { isBlocked: () => boolean; openHelp: () => void }): () => void {
  let goSince = -Infinity

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || deps.isBlocked() || isField(event.target)) return
    const isSecond = event.timeStamp - goSince < SECOND_KEY_MS
    goSince = -Infinity
    if (isSecond) {
      const place = PLACES.find(({ key }) => key === event.key)
      if (place !== undefined) location.hash = toHash(place.path === '' ? [] : [place.path])
      return
    }
    if (event.key === 'g') goSince = event.timeStamp
    else if (event.key === '?') deps.openHelp()
    else if (event.key === '/') {
      event.preventDefault()
      const search = document.getElementById('search')
      // Selects the last search, so that typing replaces it.
      if (search instanceof HTMLInputElement) search.select()
    }
  }

  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

function isField(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('input, select, textarea')
}
