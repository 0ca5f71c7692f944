import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ConsoleError } from './console-error.ts'

/**
 * Refuses requests that the console's own page would not send.
 *
 * 1. `Host` must be the console's host exactly. An attacker may point the name of another host at this address; the
 *    browser then sends that name.
 * 2. A request for anything but the page and its files must come from the page itself. The header `Sec-Fetch-Site`
 *    shows this, or `Origin` if the browser does not send `Sec-Fetch-Site`.
 * 3. A request that changes something must also have a JSON body and the header `x-millrace-page`. No HTML form can
 *    send either.
 *
 * The guard compares the route that the router matched, not the path as it was sent: the router decodes the path first,
 * so it serves `/%61pi/` as `/api/`, and a comparison of the raw path would miss that. `open` lists the routes to which
 * any page may link. Every other route is guarded.
 *
 * Requests with a bearer token are not checked. Tokens are for programs, and no browser attaches a token by itself.
 * Programs may also use another address of the console, because not every program can resolve a name below `localhost`.
 */
export function installGuard(
  app: FastifyInstance,
  { origin, open }: { origin: URL; open: ReadonlySet<string> },
): void {
  const isOpen = ({ routeOptions: { url } }: FastifyRequest) => url !== undefined && open.has(url)
  app.addHook('onRequest', async (request) => {
    if (request.headers.authorization !== undefined) return
    if (request.headers.host !== origin.host) throw new ConsoleError('wrong_host')
    if (isOpen(request)) return
    if (!isFromPage(request, origin)) throw new ConsoleError('foreign_origin')
    if (request.method !== 'GET' && !isSentByPage(request)) throw new ConsoleError('not_from_the_page')
  })
}

function isFromPage({ headers }: FastifyRequest, origin: URL): boolean {
  const site = headers['sec-fetch-site']
  return site === undefined ? headers.origin === origin.origin : site === 'same-origin'
}

function isSentByPage({ headers }: FastifyRequest): boolean {
  const type = headers['content-type']?.split(';')[0]?.trim()
  return type === 'application/json' && headers['x-millrace-page'] === '1'
}
