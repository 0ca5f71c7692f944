import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ConsoleError } from './console-error.ts'

/**
 * Refuses requests that the console's own page would not send.
 *
 * 1. `Host` is the console's, exactly: a name that an attacker points at this address is another one.
 * 2. A request for anything but the page and its files comes from the page itself: by `Sec-Fetch-Site`, or by `Origin`
 *    where a browser sends no such header.
 * 3. There, a change has JSON and a header of ours, which no form can send.
 *
 * What is asked for is the route that the router found, never the address as it was sent: the router decodes that before
 * it matches, so `/%61pi/` is `/api/` to it and not to a comparison of texts. `open` lists the routes that any page may
 * link to; a new route is guarded unless it is added there.
 *
 * A bearer token is for programs. No browser attaches it on its own, so none of this holds for it: programs may also use
 * an address of the console that browsers do not, because not every program can resolve a name below `localhost`.
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
