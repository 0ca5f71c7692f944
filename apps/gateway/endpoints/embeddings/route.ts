import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Span } from '#libs/telemetry/span.ts'
import type { Caller } from '../../callers/caller.ts'
import { brokenOutput, collect } from '../../generation/output/collect.ts'
import { NO_CONVERSATION } from '../../generation/request/conversation.ts'
import type { Generate, GenerationCall } from '../../generation/request/generation-call.ts'
import { abortOnHangUp } from '../../http/abort-on-hang-up.ts'
import { isRepeated } from '../../http/is-repeated.ts'
import { setPreferenceApplied } from '../inform-of-start-wait.ts'
import type { PrepareRequest } from '../prepare-request.ts'
import { prepareEmbeddings } from './prepare-embeddings.ts'
import { shortenVector } from './shorten-vector.ts'
import { toEntry, toList } from './to-list.ts'

/** `POST /v1/embeddings`. */
export function serveEmbeddings(deps: {
  generate: Generate
  prepareRequest: PrepareRequest
  callerOf: (request: FastifyRequest) => Caller
  spanOf: (request: FastifyRequest) => Span
  /** Returns how long the client is willing to wait for a model that is being started, in seconds. */
  startWaitOf: (request: FastifyRequest) => number | null
}): RouteHandlerMethod {
  const { generate, prepareRequest, callerOf, spanOf, startWaitOf } = deps
  return async (request, reply) => {
    const prepared = await prepareRequest(prepareEmbeddings, request)
    const { model, dimensions, encoding } = prepared
    const { signal } = abortOnHangUp(reply.raw)
    // Each vector is serialized when it arrives, because serializing thousands at once would block the event loop.
    const entries: string[] = []

    const call: GenerationCall = {
      id: request.id,
      caller: callerOf(request),
      span: spanOf(request),
      model,
      request: prepared.request,
      size: prepared.size,
      conversation: NO_CONVERSATION,
      session: null,
      maxOutputTokens: null,
      streamed: false,
      isRepeated: isRepeated(request.headers),
      startWaitS: startWaitOf(request),
      onStartWait: (wait) => setPreferenceApplied(reply.raw, wait),
      receivedMs: performance.now() - reply.elapsedTime,
      onVectors(vectors) {
        for (const vector of vectors) {
          entries.push(toEntry(shortenVector(vector, dimensions), entries.length, encoding))
        }
      },
      signal,
    }
    const { usage } = await collect(async (send) => await generate(call, send))
    if (entries.length !== prepared.request.inputs.length) {
      throw brokenOutput('the generation ended without the vectors of all inputs')
    }
    return reply.type('application/json; charset=utf-8').send(toList(entries, model.id, usage))
  }
}
