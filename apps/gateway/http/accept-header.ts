import type { FastifyInstance } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'

/**
 * Replaces two refusals of Node, which have neither an error object nor an `x-request-id`. A request without `host` is
 * refused here (RFC 9112, section 3.2); the server must have been made with `requireHostHeader: false`. An expectation
 * other than `100-continue` is ignored (RFC 9110, section 10.1.1).
 */
export function installAcceptHeader(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', async ({ headers, raw }) => {
    if (headers.host === undefined && raw.httpVersion === '1.1') {
      throw new ApiError('invalid_request', "The header 'host' is required.", { param: 'host' })
    }
  })
}
