import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toAdminRequest } from '#libs/admin-contract/admin-request.ts'
import { createTokenBuckets } from '#libs/rate-limit/token-buckets.ts'
import { toNetwork } from '#libs/rate-limit/to-network.ts'
import type { AskBilling } from './ask-billing.ts'
import { ConsoleError } from './console-error.ts'
import type { SessionCookie } from './session-cookie.ts'

/** Contains a credential's token, or the ticket that `millrace console` prints. */
const SignInBody = z.union([
  z.strictObject({ token: z.string().regex(/^[\x21-\x7e]{1,500}$/) }),
  z.strictObject({ ticket: z.string().regex(/^[\x21-\x7e]{1,500}$/) }),
])

const LONGEST_USER_AGENT = 300

/** How many sign-ins of one address may fail, all of them at once or one after the other. */
const FAILURES_PER_MINUTE = 10

/**
 * `POST /api/session` exchanges a token or a ticket for a session of billing; the session's token goes only into the
 * cookie. `DELETE` ends the session in billing first, and then removes the cookie.
 */
export function serveSignIn(
  app: FastifyInstance,
  deps: { askBilling: AskBilling; cookie: SessionCookie; nowMs: () => number },
): void {
  const { askBilling, cookie, nowMs } = deps
  const failures = createTokenBuckets({ perS: FAILURES_PER_MINUTE / 60, burst: FAILURES_PER_MINUTE, nowMs })

  app.post('/api/session', async (request, reply) => {
    const address = toNetwork(request.ip)
    if (failures.waitS(address) > 0) throw new ConsoleError('too_many_attempts')
    const parsed = SignInBody.safeParse(parseJson(request.body))
    if (!parsed.success) throw new ConsoleError('invalid_request', { cause: parsed.error })
    const [operation, token] =
      'token' in parsed.data
        ? ([ADMIN.openSession, parsed.data.token] as const)
        : ([ADMIN.claimSession, parsed.data.ticket] as const)
    const asked = toAdminRequest(operation, { userAgent: userAgentOf(request) })
    const answer = await askBilling({ ...asked, token })
    if (answer.status === 401 || answer.status === 403) failures.take(address)
    if (!answer.ok) {
      return reply
        .status(answer.status)
        .type('application/json; charset=utf-8')
        .send(await answer.text())
    }
    const opened = ADMIN.claimSession.answer.parse(await answer.json())
    cookie.set(reply, opened.token)
    return reply.status(201).send({ name: opened.session.name, role: opened.session.role })
  })

  app.delete('/api/session', async (request, reply) => {
    const token = cookie.read(request)
    if (token !== undefined) {
      const asked = toAdminRequest(ADMIN.endSession, { session: 'current' })
      const answer = await askBilling({ ...asked, token })
      // On 401 billing does not know the session any more, so it has already ended.
      if (!answer.ok && answer.status !== 401) {
        return reply
          .status(answer.status)
          .type('application/json; charset=utf-8')
          .send(await answer.text())
      }
      await answer.body?.cancel()
    }
    cookie.clear(reply)
    return reply.status(204).send()
  })
}

/** Returns undefined if the header is missing; billing then stores no user agent. */
function userAgentOf(request: FastifyRequest): string | undefined {
  const text = request.headers['user-agent']?.trim().slice(0, LONGEST_USER_AGENT) ?? ''
  return text === '' ? undefined : text
}

/** Returns undefined if the text is not JSON. */
function parseJson(body: unknown): unknown {
  try {
    return typeof body === 'string' ? JSON.parse(body) : undefined
  } catch {
    return undefined
  }
}
