import { Readable } from 'node:stream'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { ADMIN, ADMIN_ROOT } from '#libs/admin-contract/admin-contract.ts'
import { ADMIN_ERRORS } from '#libs/admin-contract/admin-errors.ts'
import type { Operation } from '#libs/admin-contract/operation.ts'
import type { Asked } from '#libs/http-contract/parse-asked.ts'
import { toRoute } from '#libs/http-contract/path.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { isDatabaseUnavailable, isMissingRight } from '../database/database-errors.ts'
import { runTransaction } from '../database/run-transaction.ts'
import type { Tables } from '../database/tables.ts'
import type { Reconcile } from '../books/reconcile.ts'
import { AdminError, toErrorBody } from '../resources/admin-error.ts'
import { describeAdmin } from './describe-admin.ts'
import type { Actor, AdminContext, Export, Implementation, LiveState } from './implement.ts'
import { OPERATIONS } from './operations.ts'
import { createSignIn } from './sign-in.ts'
import { writeAudit } from '../resources/write-audit.ts'

/** The limit of request bodies, enough for a catalog of some hundred models. */
const MAX_BODY_BYTES = 1024 * 1024

const UPLOAD_LIMIT_MS = 30_000

/**
 * A connection is closed after this time without traffic. No answer takes this long to begin. The slowest answer is the
 * result of a reconciliation that checks the ledger from its first entry on.
 */
const IDLE_LIMIT_MS = 11 * 60_000

const CLAIM_URL = ADMIN_ROOT + ADMIN.claimSession.path

/** The most reconciliations at once. Each may use one of the admin interface's few database connections for minutes. */
const MAX_COMPARISONS = 2

/**
 * The admin interface's HTTP server, not listening yet. It has its own port and its own credentials: no operation is
 * reachable through the public interface. `#libs/admin-contract` describes the operations, `operations.ts` implements them.
 */
export function createAdminServer(deps: {
  db: Kysely<Tables>
  /** A database with a longer time limit for statements. Default: `db`. */
  archiveDb?: Kysely<Tables>
  reconcile: Reconcile
  /** The number of whole months before the present month that must not be archived. */
  keepMonths: number
  adminToken: string
  /** How long a connection stays open after an answer. */
  keepAliveTimeoutMs: number
  live: () => LiveState
  nowMs: () => number
  log: Logger
}): FastifyInstance {
  const { db, archiveDb = db, keepMonths, adminToken, live, nowMs, log } = deps
  const reconcile = boundComparisons(deps.reconcile)
  const signIn = createSignIn(deps)
  const actors = new WeakMap<FastifyRequest, Actor>()

  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: UPLOAD_LIMIT_MS,
    // `headersTimeout` must not be longer than `requestTimeout`: Node would swap the two limits. The default of
    // `headersTimeout` is 60 s.
    http: { headersTimeout: UPLOAD_LIMIT_MS },
    keepAliveTimeout: deps.keepAliveTimeoutMs,
    connectionTimeout: IDLE_LIMIT_MS,
    exposeHeadRoutes: false,
    logger: false,
    frameworkErrors: (_error, _request, reply) => {
      sendError(reply, new AdminError('invalid_request', 'The path is malformed.'))
    },
  })
  app.addHook('onRequest', async (request) => {
    const actor = await signIn(request.headers.authorization)
    actors.set(request, actor)
    if (actor.by.kind === 'ticket' && request.routeOptions.url !== CLAIM_URL) {
      throw new AdminError('invalid_token', 'A ticket is for claimSession only.')
    }
  })
  readJsonBodies(app)
  app.setErrorHandler((error, request, reply) => {
    const failure = toAdminError(error)
    if (ADMIN_ERRORS[failure.code].status >= 500) {
      log.error({ err: error, route: request.routeOptions.url }, 'admin request failed')
    }
    if (failure.code === 'forbidden' || failure.code === 'invalid_token') {
      const { method, ip, routeOptions } = request
      const actor = actors.get(request)
      const known = actor && { name: actor.name, role: actor.role }
      const asked = { actor: known, method, route: routeOptions.url, ip }
      log.warn({ ...asked, code: failure.code }, 'admin request refused')
    }
    return sendError(reply, failure)
  })
  app.setNotFoundHandler(() => {
    throw new AdminError('not_found', 'There is no such operation.')
  })

  function actorOf(request: FastifyRequest, { roles }: Operation): Actor {
    const actor = actors.get(request)
    if (actor === undefined) throw new Error('a request was served without a sign-in')
    if (roles.includes(actor.role)) return actor
    const needed = roles.join(' or ')
    throw new AdminError('forbidden', `This needs the role ${needed}; the token has the role ${actor.role}.`)
  }

  function serve(id: string, implementation: Implementation): void {
    const { operation } = implementation
    app.route({
      method: operation.method,
      url: ADMIN_ROOT + toRoute(operation.path),
      // Authenticates before the body is read.
      onRequest: async (request) => void actorOf(request, operation),
      async handler(request, reply) {
        const actor = actorOf(request, operation)
        const asked = { params: request.params, query: request.query, body: request.body ?? {} }
        const ownDb = id === 'archiveMonth' ? archiveDb : db
        const now = new Date(nowMs())
        const context = { db: ownDb, actor, now, reconcile, keepMonths, adminToken, live }
        switch (implementation.kind) {
          case 'read':
            return await implementation.serve(asked, context)
          case 'export':
            return sendExport(reply, await implementation.serve(asked, context), log)
          case 'change': {
            const answer = await change({ id, ...implementation }, asked, context)
            return reply.status(implementation.status).send(answer)
          }
        }
      },
    })
  }
  for (const [id, implementation] of Object.entries(OPERATIONS)) serve(id, implementation)

  let description: string | undefined
  // Every role may read the document, so signing in is enough.
  app.get(`${ADMIN_ROOT}/openapi.json`, async (_request, reply) => {
    description ??= JSON.stringify(describeAdmin())
    return reply.type('application/json; charset=utf-8').send(description)
  })
  return app
}

/** Runs a change and writes its audit entry, in one transaction. */
async function change(
  operation: Implementation & { kind: 'change'; id: string },
  asked: Asked,
  context: AdminContext,
): Promise<unknown> {
  return await runTransaction(context.db, async (transaction) => {
    const inside = { ...context, db: transaction }
    const { answer, audit } = await operation.serve(asked, inside)
    if (audit !== null) await writeAudit(inside, operation.id, audit)
    return answer
  })
}

function boundComparisons(reconcile: Reconcile): Reconcile {
  let running = 0
  return async (whole) => {
    if (running >= MAX_COMPARISONS) {
      throw new AdminError(
        'unavailable',
        'Other comparisons of the books are running; try again in a minute.',
      )
    }
    running += 1
    try {
      return await reconcile(whole)
    } finally {
      running -= 1
    }
  }
}

/**
 * Sends an export. An export that fails midway ends its connection, so that a truncated answer does not look complete.
 */
function sendExport(reply: FastifyReply, { contentType, parts }: Export, log: Logger): FastifyReply {
  const stream = Readable.from(parts)
  stream.on('error', (error) => log.error({ err: error }, 'an export was cut off'))
  return reply.type(`${contentType}; charset=utf-8`).send(stream)
}

/**
 * Reads every body as JSON, whatever its content type (curl's -d declares a form). The body may be empty for an
 * operation without required fields.
 */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, async (_request: unknown, body: string) => {
    if (body === '') return undefined
    try {
      return JSON.parse(body)
    } catch {
      throw new AdminError('invalid_request', 'The body is not JSON.')
    }
  })
}

function sendError(reply: FastifyReply, failure: AdminError): FastifyReply {
  return reply.status(ADMIN_ERRORS[failure.code].status).send(toErrorBody(failure))
}

function toAdminError(error: unknown): AdminError {
  if (error instanceof AdminError) return error
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 413)
    return new AdminError('request_too_large', `A body has at most ${MAX_BODY_BYTES} bytes.`)
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new AdminError('invalid_request', 'The request could not be read.')
  }
  if (isDatabaseUnavailable(error)) {
    return new AdminError('unavailable', 'The database did not answer in time; try again, or request less.')
  }
  if (isMissingRight(error)) {
    return new AdminError(
      'unavailable',
      'The service lacks a right on its database; its log names the right.',
    )
  }
  return new AdminError('internal_error', 'The service failed; its log has the cause.')
}
