import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { brokenOutput, collect } from '../generation/output/collect.ts'
import type { Caller } from '../callers/caller.ts'
import { readSession } from '../generation/request/conversation.ts'
import type { Generate, GenerationCall } from '../generation/request/generation-call.ts'
import { abortOnHangUp } from '../http/abort-on-hang-up.ts'
import type { Span } from '#libs/telemetry/span.ts'
import type { ReportError } from '../http/handle-error.ts'
import { isRepeated } from '../http/is-repeated.ts'
import type { SseSockets } from '../http/sse-socket.ts'
import type { Answer, GenerationEndpoint } from './generation-endpoint.ts'
import { setPreferenceApplied, toStartComment } from './inform-of-start-wait.ts'
import type { PrepareRequest } from './prepare-request.ts'
import type { ReasoningKeys } from './responses/sealed-reasoning.ts'

export type ServeGenerationDeps = {
  readonly generate: Generate
  readonly prepareRequest: PrepareRequest
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly reasoningKeysOf: (request: FastifyRequest) => ReasoningKeys
  readonly spanOf: (request: FastifyRequest) => Span
  /** Returns how long the client is willing to wait for a model that is being started, in seconds. */
  readonly startWaitOf: (request: FastifyRequest) => number | null
  readonly sseSockets: SseSockets
  readonly reportError: ReportError
  /** Counts a stream that had begun and ends with this error. */
  readonly countCutStream: (error: unknown) => void
  readonly wallClockMs: () => number
}

/** Returns the route of an operation that answers with a generation: one JSON body, or a stream of events. */
export function serveGeneration<Options>(
  endpoint: GenerationEndpoint<Options>,
  deps: ServeGenerationDeps,
): RouteHandlerMethod {
  return async (request, reply) => {
    const { stream, options, promptCacheKey, ...prepared } = await deps.prepareRequest(
      endpoint.prepare,
      request,
    )
    const { id, headers } = request
    const nowS = () => Math.floor(deps.wallClockMs() / 1_000)
    const exchange: Exchange<Options> = {
      call: {
        id,
        caller: deps.callerOf(request),
        span: deps.spanOf(request),
        streamed: stream,
        isRepeated: isRepeated(headers),
        startWaitS: deps.startWaitOf(request),
        receivedMs: performance.now() - reply.elapsedTime,
        ...prepared,
        session: readSession(headers, promptCacheKey),
      },
      answer: {
        id,
        created: nowS(),
        nowS,
        model: prepared.model,
        options,
        reasoningKeys: deps.reasoningKeysOf(request),
        headers,
      },
      request,
      reply,
    }
    return stream ? answerStream(endpoint, deps, exchange) : answerWhole(endpoint, deps, exchange)
  }
}

/** One request: its call of `generate`, the fields of its answer, and the connection. */
type Exchange<Options> = {
  readonly call: Omit<GenerationCall, 'signal' | 'onStartWait'>
  readonly answer: Answer<Options>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

async function answerWhole<Options>(
  endpoint: GenerationEndpoint<Options>,
  { generate }: ServeGenerationDeps,
  { call, answer, reply }: Exchange<Options>,
) {
  const { signal } = abortOnHangUp(reply.raw)
  const onStartWait: GenerationCall['onStartWait'] = (wait) => setPreferenceApplied(reply.raw, wait)
  const finished = await collect(async (send) => await generate({ ...call, signal, onStartWait }, send))
  void reply.type('application/json; charset=utf-8')
  return endpoint.renderWhole(finished, answer)
}

async function answerStream<Options>(
  endpoint: GenerationEndpoint<Options>,
  { generate, sseSockets, reportError, countCutStream }: ServeGenerationDeps,
  { call, answer, request, reply }: Exchange<Options>,
) {
  const renderer = endpoint.renderStream(answer)
  for (const [name, value] of Object.entries(renderer.headers)) reply.raw.setHeader(name, value)
  const { takePrompt: onPrompt } = renderer
  const socket = sseSockets.attach(reply, renderer.keepAlive)
  const onStartWait: GenerationCall['onStartWait'] = (wait) => {
    setPreferenceApplied(reply.raw, wait)
    socket.open(() => toStartComment(wait))
  }
  try {
    const streamed = {
      ...call,
      signal: socket.signal,
      onStartWait,
      ...(onPrompt !== undefined && { onPrompt }),
    }
    await generate(streamed, (batch, choice) => {
      const events = renderer.render(batch, choice)
      if (renderer.ended()) socket.end(events)
      else socket.write(events)
    })
    if (!renderer.ended() && !socket.signal.aborted) throw brokenOutput('the output stopped without its end')
    return reply.hijack()
  } catch (error) {
    // The client has closed the connection.
    if (socket.signal.aborted) return reply.hijack()
    if (socket.opened()) {
      countCutStream(error)
      socket.end(renderer.renderError(reportError(error, request).body))
      return reply
    }
    socket.detach()
    throw error
  }
}
