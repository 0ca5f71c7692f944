import type { FastifyInstance } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'

/**
 * Handles two kinds of requests that Node would refuse without an error object and without an `x-request-id`:
 * - A request without `host` is refused here, with an error object and an `x-request-id` (RFC 9112, section 3.2). The
 *   server must have been made with `requireHostHeader: false`.
 * - A request with an expectation other than `100-continue` is served: the expectation is ignored (RFC 9110, section
 *   10.1.1).
 */
export function installAcceptHeader(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', async ({ headers, raw }) => {
    if (headers.host === undefined && raw.httpVersion === '1.1') {
      throw new ApiError('invalid_request', "The header 'host' is required.", { param: 'host' })
    }
  })
}
