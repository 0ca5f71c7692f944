import type { FastifyInstance, FastifyRequest } from 'fastify'
import { API_ERRORS, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import { carriesBody } from './carries-body.ts'
import type { SenderRate } from './sender-rate.ts'

/** The message to the sender of too many refused bodies. */
export const TOO_MANY_REFUSED =
  'Too many requests of this account were refused because of their bodies. Correct them; the last error says what is wrong.'

/**
 * Refuses a request with a body, before the body is read, if too many requests of the same sender were refused because
 * of their bodies (`SenderRate`). The returned function notes a failed request if its body caused the failure: a wrong
 * field, an unknown model, or the size.
 */
export function installRefusalRate(
  app: FastifyInstance,
  options: { rate: SenderRate; accountOf: (request: FastifyRequest) => string },
): (request: FastifyRequest, code: ApiErrorCode) => void {
  const { rate, accountOf } = options
  const toSender = (request: FastifyRequest) => ({ account: accountOf(request), address: request.ip })
  const checked = new WeakSet<FastifyRequest>()
  app.addHook('preParsing', async (request) => {
    if (!carriesBody(request)) return
    rate.check(toSender(request))
    checked.add(request)
  })
  return (request, code) => {
    if (checked.has(request) && OF_BODY.has(API_ERRORS[code].status)) rate.note(toSender(request))
  }
}

const OF_BODY: ReadonlySet<number> = new Set([400, 404, 413])
