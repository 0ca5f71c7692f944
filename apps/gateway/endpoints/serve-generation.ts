import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { brokenOutput, collect } from '../generation/collect.ts'
import type { Caller, Generate, GenerationCall } from '../generation/generation-call.ts'
import { abortOnHangUp } from '../http/abort-on-hang-up.ts'
import type { ReportError } from '../http/handle-error.ts'
import type { SseSockets } from '../http/sse-socket.ts'
import type { PrepareRequest } from '../preparation/prepare-body.ts'
import type { Answer, GenerationEndpoint } from './generation-endpoint.ts'

export type ServeGenerationDeps = {
  readonly generate: Generate
  readonly prepareRequest: PrepareRequest
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly sseSockets: SseSockets
  readonly reportError: ReportError
  readonly nowMs: () => number
}

/** The route of an operation that answers with a generation: as one JSON body, or as a stream of frames. */
export function serveGeneration<Options>(
  endpoint: GenerationEndpoint<Options>,
  deps: ServeGenerationDeps,
): RouteHandlerMethod {
  return async (request, reply) => {
    const {
      model,
      request: generation,
      maxOutputTokens,
      stream,
      options,
    } = await deps.prepareRequest(endpoint.prepare, request)
    const call = {
      id: request.id,
      caller: deps.callerOf(request),
      model,
      request: generation,
      maxOutputTokens,
    }
    const nowS = () => Math.floor(deps.nowMs() / 1_000)
    const answer = { id: request.id, created: nowS(), nowS, model, options, headers: request.headers }
    if (!stream) return answerWhole(endpoint, deps, { call, answer, reply })
    return answerStream(endpoint, deps, { call, answer, request, reply })
  }
}

type Call = Omit<GenerationCall, 'signal'>

async function answerWhole<Options>(
  endpoint: GenerationEndpoint<Options>,
  { generate }: ServeGenerationDeps,
  { call, answer, reply }: { call: Call; answer: Answer<Options>; reply: FastifyReply },
) {
  const { signal } = abortOnHangUp(reply.raw)
  return endpoint.renderWhole(await collect(generate({ ...call, signal })), answer)
}

async function answerStream<Options>(
  endpoint: GenerationEndpoint<Options>,
  { generate, sseSockets, reportError }: ServeGenerationDeps,
  {
    call,
    answer,
    request,
    reply,
  }: { call: Call; answer: Answer<Options>; request: FastifyRequest; reply: FastifyReply },
) {
  const renderer = endpoint.renderStream(answer)
  for (const [name, value] of Object.entries(renderer.headers)) reply.raw.setHeader(name, value)
  const socket = sseSockets.attach(reply)
  try {
    for await (const batch of generate({ ...call, signal: socket.signal })) {
      const frames = renderer.render(batch)
      if (renderer.ended) socket.end(frames)
      else socket.write(frames)
    }
    if (!renderer.ended && !socket.signal.aborted) throw brokenOutput('the output stopped without its end')
    return reply.hijack()
  } catch (error) {
    // Nobody is left to be told.
    if (socket.signal.aborted) return reply.hijack()
    if (socket.opened) {
      socket.end(renderer.renderError(reportError(error, request).body))
      return reply
    }
    socket.detach()
    throw error
  }
}
