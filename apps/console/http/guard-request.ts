import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ConsoleError } from './console-error.ts'

/**
 * Refuses requests that the console's own page would not send.
 *
 * 1. `Host` is the console's, exactly: a name that an attacker points at this address is another one.
 * 2. Below `/api/` and `/live/` a request comes from the page itself: by `Sec-Fetch-Site`, or by `Origin` where a browser
 *    sends no such header.
 * 3. There, a change has JSON and a header of ours, which no form can send.
 *
 * A bearer token is for programs. No browser attaches it on its own, so 2 and 3 do not hold for it.
 */
export function installGuard(app: FastifyInstance, origin: URL): void {
  app.addHook('onRequest', async (request) => {
    if (request.headers.host !== origin.host) throw new ConsoleError('wrong_host')
    if (!isGuarded(request) || request.headers.authorization !== undefined) return
    if (!isFromPage(request, origin)) throw new ConsoleError('foreign_origin')
    if (request.method !== 'GET' && !isSentByPage(request)) throw new ConsoleError('not_from_the_page')
  })
}

function isGuarded({ url }: FastifyRequest): boolean {
  return url.startsWith('/api/') || url.startsWith('/live/')
}

function isFromPage({ headers }: FastifyRequest, origin: URL): boolean {
  const site = headers['sec-fetch-site']
  return site === undefined ? headers.origin === origin.origin : site === 'same-origin'
}

function isSentByPage({ headers }: FastifyRequest): boolean {
  const type = headers['content-type']?.split(';')[0]?.trim()
  return type === 'application/json' && headers['x-millrace-page'] === '1'
}
