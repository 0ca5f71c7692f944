/** A place in the page: `#/accounts/ID?status=open` is `{ path: ['accounts', 'ID'], query: status=open }`. */
export type Route = { readonly path: readonly string[]; readonly query: URLSearchParams }

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decode),
    query: new URLSearchParams(query),
  }
}

/** Returns the address of a place in the page. Empty values are left out. */
export function toHash(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** Decodes a part of the address. A malformed escape, which a viewer has typed, stays as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
