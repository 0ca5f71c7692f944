import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import { Counter, type Registry } from 'prom-client'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { chatCompletions } from './endpoints/chat-completions/endpoint.ts'
import { completions } from './endpoints/completions/endpoint.ts'
import { serveEmbeddings } from './endpoints/embeddings/route.ts'
import type { Catalog } from './endpoints/find-model.ts'
import { describeModel, listModels } from './endpoints/models/route.ts'
import { narrowCatalog } from './endpoints/narrow-catalog.ts'
import { responses } from './endpoints/responses/endpoint.ts'
import { serveGeneration } from './endpoints/serve-generation.ts'
import type { Caller, Generate } from './generation/generation-call.ts'
import { installAcceptBody } from './http/accept-body.ts'
import { installAcceptHeader } from './http/accept-header.ts'
import type { Authenticate } from './http/authenticate.ts'
import { installBodyBudget, type BodyLimits } from './http/body-budget.ts'
import { closeIdleConnections } from './http/close-idle-connections.ts'
import {
  answerMalformed,
  answerUnrouted,
  createReportError,
  installErrorHandler,
} from './http/handle-error.ts'
import { installRequestId } from './http/request-id.ts'
import { installRequestMetrics } from './http/request-metrics.ts'
import { shorten } from './http/shorten.ts'
import { createSseSockets, type SseLimits } from './http/sse-socket.ts'
import { serveDescription } from './openapi/route.ts'
import { createPrepareRequest, type PrepareBody } from './preparation/prepare-body.ts'

export type HttpLimits = SseLimits &
  BodyLimits & {
    /** How long a request may take to arrive whole. */
    readonly uploadMs: number
    /** A connection on which nothing moves for so long is closed; above the longest deadline of a generation. */
    readonly connectionIdleMs: number
  }

type AppDeps = {
  readonly generate: Generate
  readonly authenticate: Authenticate
  readonly catalog: Catalog
  readonly prepareBody: PrepareBody
  /** UUIDv7. */
  readonly newId: () => string
  readonly nowMs: () => number
  /** Calls back each second until the returned function is called. */
  readonly everySecond: (run: () => void) => () => void
  readonly registry: Registry
  readonly log: Logger
  readonly limits: HttpLimits
}

/** The public HTTP interface: every route, in order. Closing it waits for the answers under way. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const { generate, catalog, newId, nowMs, registry, log, limits } = deps
  const app = fastify({
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.uploadMs,
    http: {
      requireHostHeader: false,
      // Node exchanges the two times when the one for headers is the longer one.
      headersTimeout: limits.uploadMs,
      connectionsCheckingInterval: Math.ceil(limits.uploadMs / 10),
    },
    connectionTimeout: limits.connectionIdleMs,
    genReqId: newId,
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => answerUnrouted(request, reply),
    clientErrorHandler: (error, socket) =>
      answerMalformed(error, socket, { requestId: newId(), uploadMs: limits.uploadMs }),
  })

  installRequestId(app)
  const noteFailure = installRequestMetrics(app, { registry, nowMs })
  const reportError = createReportError({ log, noteFailure, bodyBytes: limits.bodyBytes })
  installErrorHandler(app, reportError)
  installAcceptHeader(app)
  refuseWhatIsNoOperation(app)
  closeIdleConnections(app)
  installAcceptBody(app)

  const slowReaders = new Counter({
    name: 'millrace_http_slow_readers_total',
    help: 'Streams cut off because their client did not read.',
    registers: [registry],
  })
  const sseSockets = createSseSockets({
    limits,
    everySecond: deps.everySecond,
    onSlowReader: () => slowReaders.inc(),
  })
  app.addHook('onClose', async () => sseSockets.close())

  const callers = new WeakMap<FastifyRequest, Caller>()
  const onRequest = async (request: FastifyRequest) => {
    callers.set(request, await deps.authenticate(request.headers.authorization))
  }
  // A look at the catalog costs nothing: a key that cannot be checked may take it, or nobody ever saw the fallback.
  const onCatalogRequest = async (request: FastifyRequest) => {
    await onRequest(request).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 'model_unavailable')) throw error
    })
  }
  const callerOf = (request: FastifyRequest) => {
    const caller = callers.get(request)
    if (caller === undefined) throw new Error('this route does not authenticate')
    return caller
  }

  const catalogOf = (request: FastifyRequest) => {
    const caller = callers.get(request)
    return caller === undefined ? catalog : narrowCatalog(catalog, caller)
  }

  const releaseBody = installBodyBudget(app, {
    limits,
    accountOf: (request) => callers.get(request)?.accountId,
  })
  const prepareRequest = createPrepareRequest({
    prepareBody: deps.prepareBody,
    catalogOf,
    release: releaseBody,
  })

  const serving = { generate, prepareRequest, callerOf, sseSockets, reportError, nowMs }
  app.post('/v1/chat/completions', { onRequest }, serveGeneration(chatCompletions, serving))
  app.post('/v1/responses', { onRequest }, serveGeneration(responses, serving))
  app.post('/v1/completions', { onRequest }, serveGeneration(completions, serving))
  app.post('/v1/embeddings', { onRequest }, serveEmbeddings(serving))
  app.get('/v1/models', { onRequest: onCatalogRequest }, listModels(catalogOf))
  app.get('/v1/models/*', { onRequest: onCatalogRequest }, describeModel(catalogOf))
  app.get('/openapi.json', serveDescription)
  return app
}

/** Refuses unknown paths, wrong methods and a closing gateway's late requests before their body is read. */
function refuseWhatIsNoOperation(app: FastifyInstance): void {
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  app.addHook('onRequest', async (request) => {
    if (request.is404) {
      throw new ApiError(
        'unknown_operation',
        `There is no operation ${request.method} ${shorten(request.url)}.`,
      )
    }
    if (closing) {
      throw new ApiError('model_unavailable', 'This gateway is shutting down.', { retryAfterS: 1 })
    }
  })
}
