import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Registry } from '@prometheus-io/client'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { AskAccount } from '#libs/billing-client/ask-account.ts'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Tracing } from '#libs/telemetry/tracing.ts'
import { serveAccountPage } from './http/account-page.ts'
import { narrowCatalog, withCallFormats, type Catalog } from './catalog.ts'
import { chatCompletionsDescription } from './endpoints/chat-completions/describe.ts'
import { chatCompletions } from './endpoints/chat-completions/endpoint.ts'
import { completionsDescription } from './endpoints/completions/describe.ts'
import { completions } from './endpoints/completions/endpoint.ts'
import { createCountCutStream } from './endpoints/count-cut-streams.ts'
import { embeddingsDescription } from './endpoints/embeddings/describe.ts'
import { serveEmbeddings } from './endpoints/embeddings/route.ts'
import { healthDescription } from './endpoints/health/describe.ts'
import { readHealth } from './endpoints/health/route.ts'
import { messageCount } from './endpoints/messages/count.ts'
import { messageCountDescription } from './endpoints/messages/describe-count.ts'
import { messagesDescription } from './endpoints/messages/describe.ts'
import { messages } from './endpoints/messages/endpoint.ts'
import { describeModelDescription, listModelsDescription } from './endpoints/models/describe.ts'
import { describeModel, listModels } from './endpoints/models/route.ts'
import type { OperationDescription } from './endpoints/operation-description.ts'
import { createPrepareRequest, type PrepareOnThread, type SmallBody } from './endpoints/prepare-request.ts'
import { responseCount } from './endpoints/responses/count.ts'
import { responseCountDescription } from './endpoints/responses/describe-count.ts'
import { responsesDescription } from './endpoints/responses/describe.ts'
import { responses } from './endpoints/responses/endpoint.ts'
import { forwardAccount } from './endpoints/self-service/forward-account.ts'
import { serveGeneration } from './endpoints/serve-generation.ts'
import { createCountRate, serveCount } from './endpoints/serve-count.ts'
import type { CountTokens } from './generation/count-tokens.ts'
import type { Generate } from './generation/request/generation-call.ts'
import { refuseShortage } from './generation/request/insufficient-credits.ts'
import { installAcceptBody } from './http/accept-body.ts'
import { installAcceptHeader } from './http/accept-header.ts'
import type { Authenticate } from './callers/authenticate.ts'
import { installBodyBudget, type BodyLimits } from './http/body-budget.ts'
import { boundConnections, type ConnectionLimits } from './http/bound-connections.ts'
import { closeIdleConnections } from './http/close-idle-connections.ts'
import { installCors, type AllowedOrigins } from './http/cors.ts'
import { encodingOf, installDecodeBody } from './http/decode-body.ts'
import { installDrain } from './http/drain.ts'
import {
  answerMalformed,
  answerUnrouted,
  createReportError,
  installErrorHandler,
} from './http/handle-error.ts'
import { isAnthropic } from './http/api-style.ts'
import { createIdentify, type AuthenticateManager } from './callers/identify.ts'
import { installRefusalRate, TOO_MANY_REFUSED } from './http/refusal-rate.ts'
import { refuseUnknownOperations } from './http/refuse-unknown-operations.ts'
import { installRequestId } from './http/request-id.ts'
import { installRequestMetrics } from './http/request-metrics.ts'
import { createSenderRate } from './http/sender-rate.ts'
import { createSseSockets, type SseLimits } from './http/sse-socket.ts'
import { traceRequests } from './http/trace-requests.ts'
import { readWaitPreference } from './http/wait-preference.ts'
import { serveDescription } from './openapi/route.ts'

export type HttpLimits = SseLimits &
  BodyLimits &
  SmallBody &
  ConnectionLimits & {
    /** How many requests of one account per second may fail because of their bodies (`SenderRate`). */
    readonly refusedBodiesPerS: number
    /** How many bytes of one account's prompts may be counted per second (`CountRate`). */
    readonly countBytesPerS: number
    /** The longest time that a request may wait for a model that is being started; 0: no request waits. */
    readonly startWaitS: number
    /** How long a request may take to arrive. */
    readonly uploadMs: number
    /** How long a connection stays open after an answer. */
    readonly keepAliveTimeoutMs: number
    /** A connection is closed after this time without traffic. Must be longer than any generation. */
    readonly connectionIdleMs: number
  }

type AppDeps = {
  readonly generate: Generate
  readonly countTokens: CountTokens
  /** Authenticates API keys. */
  readonly authenticate: Authenticate
  readonly authenticateManager: AuthenticateManager
  readonly catalog: Catalog
  /** Returns the format in which a model's workers write tool calls; null if it is unknown. */
  readonly callFormatOf: (model: string) => string | null
  /** Asks billing for the data of a caller's own key or account, and for the changes that management keys make. */
  readonly askAccount: AskAccount
  readonly prepareOnThread: PrepareOnThread
  /** Returns whether conversations of this model have seats. */
  readonly hasSeats: (model: string) => boolean
  /** The secrets of encrypted reasoning, the newest first. */
  readonly reasoningSecrets: readonly string[]
  /** Returns a UUIDv7. */
  readonly newId: () => string
  readonly nowMs: () => number
  readonly wallClockMs: () => number
  /** Calls `run` each second until the returned function is called. */
  readonly everySecond: (run: () => void) => () => void
  readonly registry: Registry
  readonly tracing: Tracing
  readonly log: Logger
  readonly limits: HttpLimits
  readonly hasAccountPage: boolean
  readonly allowedOrigins: AllowedOrigins
  /** Returns whether new requests are served. */
  readonly takesWork: () => boolean
}

/**
 * The public HTTP interface: every route, in order. `drain` refuses new requests, but still accepts new connections. It
 * resolves when the running requests have ended. Closing the app also waits for the running requests, but accepts no
 * new connections.
 */
export function buildApp(deps: AppDeps): { app: FastifyInstance; drain: () => Promise<void> } {
  const { generate, catalog, newId, nowMs, wallClockMs, registry, log, limits } = deps
  const app = fastify({
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.uploadMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: {
      requireHostHeader: false,
      // This limit must not be longer than `requestTimeout`, because Node would swap the two limits. The default of
      // `headersTimeout` may be longer, so it is not used.
      headersTimeout: limits.uploadMs,
      connectionsCheckingInterval: Math.ceil(limits.uploadMs / 10),
    },
    connectionTimeout: limits.connectionIdleMs,
    trustProxy: limits.trustedProxies.length === 0 ? false : [...limits.trustedProxies],
    genReqId: newId,
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => answerUnrouted(request, reply),
    clientErrorHandler: (error, socket) =>
      answerMalformed(error, socket, { requestId: newId(), uploadMs: limits.uploadMs }),
  })

  const { asCaller, asReader, asManager, findCaller, accountOf, ...identities } = createIdentify({
    ...deps,
    isAnthropic,
  })
  const { callerOf, readerOf } = identities

  installRequestId(app)
  installCors(app, deps.allowedOrigins)
  const recordFailure = installRequestMetrics(app, { registry, nowMs })
  const noteRefusal = installRefusalRate(app, {
    rate: createSenderRate({ perS: limits.refusedBodiesPerS, tooMany: TOO_MANY_REFUSED, nowMs }),
    accountOf,
  })
  const { spanOf, noteFailure } = traceRequests(app, deps.tracing)
  const reportError = createReportError({
    log,
    recordFailure(request, code) {
      recordFailure(request, code)
      noteRefusal(request, code)
      noteFailure(request, code)
    },
    traceIdOf: (request) => spanOf(request).traceId,
    bodyBytes: limits.bodyBytes,
  })
  installErrorHandler(app, reportError)
  installAcceptHeader(app)
  const drain = installDrain(app)
  refuseUnknownOperations(app)
  closeIdleConnections(app)
  const { counter } = declareMetrics(registry)
  const refusedConnections = counter({
    name: 'millrace_http_connections_refused_total',
    help: 'Connections beyond the bound of all, or of one address, and idle ones that were closed to make room.',
    labelNames: ['bound'],
  })
  boundConnections(app, {
    limits,
    everySecond: deps.everySecond,
    onRefused: (bound) => refusedConnections.inc({ bound }),
  })
  installAcceptBody(app)
  installDecodeBody(app, accountOf)

  const slowReaders = counter({
    name: 'millrace_http_slow_readers_total',
    help: 'Streams that were cut off because their client did not read them.',
  })
  const sseSockets = createSseSockets({
    limits,
    everySecond: deps.everySecond,
    onSlowReader: () => slowReaders.inc(),
  })
  app.addHook('onClose', async () => sseSockets.close())

  // Listing models is free, so it is allowed while billing is down; otherwise the fallback catalog could never be seen.
  const authenticateIfBillingAnswers = async (request: FastifyRequest) => {
    await asReader(request).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 'model_unavailable')) throw error
    })
  }
  const catalogOf = (request: FastifyRequest) => narrowCatalog(catalog, findCaller(request)?.models ?? null)

  const bodies = counter({
    name: 'millrace_http_bodies_total',
    help: 'Bodies of generations, by where they were prepared: on the event loop or on a thread.',
    labelNames: ['place'],
  })
  const calledCatalogOf = (request: FastifyRequest) => withCallFormats(catalogOf(request), deps.callFormatOf)
  const reasoningKeysOf = (request: FastifyRequest) => ({
    secrets: deps.reasoningSecrets,
    account: accountOf(request),
  })
  const takeBody = installBodyBudget(app, {
    limits,
    ownerOf: (request) =>
      (findCaller(request)?.shortage ?? null) === null ? accountOf(request) : 'cannot pay',
    nowMs,
    everySecond: deps.everySecond,
  })
  const prepareRequest = createPrepareRequest({
    prepareOnThread: deps.prepareOnThread,
    hasSeats: deps.hasSeats,
    small: limits,
    catalogOf: calledCatalogOf,
    callerOf,
    accountOf,
    reasoningKeysOf,
    takeBody,
    onPrepare: (place) => bodies.inc({ place }),
  })

  /**
   * Authenticates the caller. If the body is large, compressed or of unknown length, also refuses a caller who cannot
   * pay, before the body is read.
   */
  const asPayer = async (request: FastifyRequest) => {
    await asCaller(request)
    const { 'content-length': length = Infinity } = request.headers
    if (encodingOf(request) === null && Number(length) < limits.largeBodyBytes) return
    refuseShortage(callerOf(request), catalogOf(request).list())
  }
  const keyed = ({ errors, promptField, style }: OperationDescription) => ({
    onRequest: asPayer,
    config: {
      errors,
      ...(promptField !== undefined && { promptField }),
      ...(style !== undefined && { style }),
    },
  })
  const free = ({ errors }: OperationDescription) => ({
    onRequest: authenticateIfBillingAnswers,
    config: { errors },
  })
  const countCutStream = createCountCutStream(registry)
  const serving = {
    generate,
    prepareRequest,
    callerOf,
    reasoningKeysOf,
    spanOf,
    startWaitOf: ({ headers }: FastifyRequest) => readWaitPreference(headers, limits.startWaitS),
    sseSockets,
    reportError,
    countCutStream,
    wallClockMs,
  }
  app.post(
    '/v1/chat/completions',
    keyed(chatCompletionsDescription),
    serveGeneration(chatCompletions, serving),
  )
  app.post('/v1/responses', keyed(responsesDescription), serveGeneration(responses, serving))
  app.post('/v1/completions', keyed(completionsDescription), serveGeneration(completions, serving))
  app.post('/v1/messages', keyed(messagesDescription), serveGeneration(messages, serving))
  const rate = createCountRate({ bytesPerS: limits.countBytesPerS, accountOf, nowMs })
  const counted = (description: OperationDescription) => {
    const { config } = keyed(description)
    return { onRequest: [asPayer, rate.check], config }
  }
  const counting = { countTokens: deps.countTokens, prepareRequest, callerOf, rate }
  app.post('/v1/messages/count_tokens', counted(messageCountDescription), serveCount(messageCount, counting))
  app.post(
    '/v1/responses/input_tokens',
    counted(responseCountDescription),
    serveCount(responseCount, counting),
  )
  app.post('/v1/embeddings', keyed(embeddingsDescription), serveEmbeddings(serving))
  app.get('/v1/models', free(listModelsDescription), listModels(catalogOf))
  app.get('/v1/models/', free(listModelsDescription), listModels(catalogOf))
  app.get('/v1/models/*', free(describeModelDescription), describeModel(catalogOf))
  const { askAccount } = deps
  forwardAccount(app, { askAccount, asReader, asManager, readerOf, bodyBytes: limits.bodyBytes, nowMs })
  app.get('/health', { config: { errors: healthDescription.errors } }, readHealth(deps.takesWork))
  app.get('/openapi.json', serveDescription)
  if (deps.hasAccountPage) serveAccountPage(app)
  return { app, drain }
}
