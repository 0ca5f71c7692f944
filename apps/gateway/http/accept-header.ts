import type { FastifyInstance } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'

/**
 * What Node would refuse by itself, without an error object and an `x-request-id`: a request without `host` is
 * refused here instead, which needs a server made with `requireHostHeader: false` (RFC 9112, section 3.2); an
 * expectation beside `100-continue` is ignored (RFC 9110, section 10.1.1).
 */
export function installAcceptHeader(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', async ({ headers, raw }) => {
    if (headers.host === undefined && raw.httpVersion === '1.1') {
      throw new ApiError('invalid_request', "The header 'host' is required.", { param: 'host' })
    }
  })
}
