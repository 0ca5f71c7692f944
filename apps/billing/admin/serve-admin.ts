import { createHash, timingSafeEqual } from 'node:crypto'
import { fastify, type FastifyInstance } from 'fastify'
import { z } from 'zod'
import { parseCredits, toNanoCredits } from '#libs/money/nano-credits.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { ADMIN_ERRORS, AdminError, type AdminErrorCode } from './admin-error.ts'
import type { Operations } from './operations.ts'

const MAX_BODY_BYTES = 64 * 1024

/**
 * The operators' HTTP interface, not listening yet. Its own port and its own bearer token: nothing of it is
 * reachable through the public interface. Amounts are text, because JSON readers round large numbers.
 */
export function createAdminServer(deps: {
  operations: Operations
  token: string
  log: Logger
}): FastifyInstance {
  const { operations, token, log } = deps
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, logger: false })

  app.addHook('onRequest', async (request) => {
    if (!isSameSecret(request.headers.authorization ?? '', `Bearer ${token}`)) {
      throw new AdminError('invalid_token', 'missing or wrong admin token')
    }
  })

  // Whatever content type it claims (curl's -d claims a form), the body is JSON. An operation without fields may
  // come without one.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, async (_request: unknown, body: string) => {
    if (body === '') return undefined
    try {
      return JSON.parse(body)
    } catch {
      throw new AdminError('invalid_request', 'the body is not JSON')
    }
  })

  app.setErrorHandler((error, request, reply) => {
    const { code, message } = toAnswer(error)
    if (code === 'internal_error') log.error({ err: error, path: request.url }, 'admin request failed')
    const { status, type } = ADMIN_ERRORS[code]
    return reply.status(status).send({ error: { code, message, type } })
  })

  app.setNotFoundHandler(() => {
    throw new AdminError('not_found', 'there is no such operation')
  })

  app.post('/admin/accounts', async (request, reply) => {
    const { name } = NewAccount.parse(request.body)
    return reply.status(201).send(await operations.createAccount(name))
  })

  app.get('/admin/accounts/:id', (request) => operations.readAccount(ById.parse(request.params).id))

  app.post('/admin/accounts/:id/topups', async (request, reply) => {
    const { id } = ById.parse(request.params)
    const { credits, amountNano, idempotencyKey, reason } = NewTopup.parse(request.body)
    const amount = credits ?? amountNano
    if (amount === undefined) throw new AdminError('invalid_request', 'give credits or amountNano')
    return reply.status(201).send(await operations.topUp(id, { amountNano: amount, idempotencyKey, reason }))
  })

  app.post('/admin/accounts/:id/keys', async (request, reply) => {
    const { id } = ById.parse(request.params)
    const { name } = NewKey.parse(request.body ?? {})
    return reply.status(201).send(await operations.createKey(id, name ?? null))
  })

  app.post('/admin/keys/:id/revoke', (request) => operations.revokeKey(ById.parse(request.params).id))

  app.get('/admin/reconcile', () => operations.reconcile())

  return app
}

const Name = z.string().trim().min(1).max(200)
const ById = z.object({ id: z.uuid() })
const NewAccount = z.strictObject({ name: Name })
const NewKey = z.strictObject({ name: Name.optional() })

/** Text to an amount above zero. */
const amountOf = (read: (text: string) => bigint) =>
  z.string().transform((text, context) => {
    try {
      const amount = toNanoCredits(read(text))
      if (amount > 0n) return amount
      context.addIssue({ code: 'custom', message: 'expected an amount above zero' })
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
    }
    return z.NEVER
  })

const NewTopup = z
  .strictObject({
    /** `"12.5"` */
    credits: amountOf(parseCredits).optional(),
    /** `"12500000000"` */
    amountNano: amountOf(BigInt).optional(),
    idempotencyKey: z.string().min(1).max(200),
    reason: z.string().trim().min(1).max(500),
  })
  .refine((topup) => (topup.credits === undefined) !== (topup.amountNano === undefined), {
    message: 'give either credits or amountNano',
  })

/** In constant time: hashing first makes the lengths equal. */
function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

function toAnswer(error: unknown): { code: AdminErrorCode; message: string } {
  if (error instanceof AdminError) return error
  if (error instanceof z.ZodError) return { code: 'invalid_request', message: z.prettifyError(error) }
  // Fastify's own refusals: not JSON, too large, wrong media type.
  if (error instanceof Error && 'statusCode' in error && error.statusCode !== 500) {
    return { code: 'invalid_request', message: error.message }
  }
  return { code: 'internal_error', message: 'something failed here; the log says what' }
}
