import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import { brokenOutput, collect } from '../../generation/collect.ts'
import type { Caller, Generate, GenerationCall } from '../../generation/generation-call.ts'
import { abortOnHangUp } from '../../http/abort-on-hang-up.ts'
import type { ReportError } from '../../http/handle-error.ts'
import { parseBody, readJsonObject, requireFields } from '../../http/parse-body.ts'
import type { SseSockets } from '../../http/sse-socket.ts'
import { findModel, type Catalog } from '../find-model.ts'
import { ChatBody } from './chat-body.ts'
import { refuseUnserved } from './refuse-unserved.ts'
import { createChatChunks } from './to-chunks.ts'
import { toGeneration } from './to-generation.ts'
import { toObject, type ChatIdentity } from './to-object.ts'

type ChatCompletionsDeps = {
  readonly generate: Generate
  readonly catalog: Catalog
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly sseSockets: SseSockets
  readonly reportError: ReportError
  readonly nowMs: () => number
}

/** `POST /v1/chat/completions`. The checks are in the order that the interface promises. */
export function chatCompletions(deps: ChatCompletionsDeps): RouteHandlerMethod {
  return async (request, reply) => {
    const json = readJsonObject(request.body)
    requireFields(json, ['model', 'messages'])
    const model = findModel(deps.catalog, readModelId(json['model']))
    if (model.kind !== 'chat') {
      throw new ApiError('model_not_found', `The model '${model.id}' does not chat.`)
    }
    refuseUnserved(json)
    // Before a million messages are looked at one by one.
    if (Array.isArray(json['messages']) && json['messages'].length > model.contextWindow) {
      throw new ApiError('invalid_request', `'messages': at most ${model.contextWindow} fit this model.`, {
        param: 'messages',
      })
    }
    const body = parseBody(ChatBody, json)

    const identity = { id: request.id, created: Math.floor(deps.nowMs() / 1_000), model: model.id }
    const call = { id: request.id, caller: deps.callerOf(request), model, ...toGeneration(body, model) }
    if (body.stream !== true) return answerWhole(deps, { call, identity, reply })
    const includeUsage = body.stream_options?.include_usage === true
    return answerStream(deps, { call, identity, includeUsage, request, reply })
  }
}

type Call = Omit<GenerationCall, 'signal'>

async function answerWhole(
  deps: ChatCompletionsDeps,
  { call, identity, reply }: { call: Call; identity: ChatIdentity; reply: FastifyReply },
) {
  const { signal } = abortOnHangUp(reply.raw)
  return toObject(await collect(deps.generate({ ...call, signal })), identity)
}

async function answerStream(
  deps: ChatCompletionsDeps,
  {
    call,
    identity,
    includeUsage,
    request,
    reply,
  }: {
    call: Call
    identity: ChatIdentity
    includeUsage: boolean
    request: FastifyRequest
    reply: FastifyReply
  },
) {
  const socket = deps.sseSockets.attach(reply)
  const chunks = createChatChunks(identity, includeUsage)
  try {
    for await (const batch of deps.generate({ ...call, signal: socket.signal })) {
      const frames = chunks.render(batch)
      if (chunks.ended) socket.end(frames)
      else socket.write(frames)
    }
    if (!chunks.ended && !socket.signal.aborted) throw brokenOutput('the output stopped without its end')
    return reply.hijack()
  } catch (error) {
    // Nobody is left to be told.
    if (socket.signal.aborted) return reply.hijack()
    if (socket.opened) {
      socket.end(chunks.renderError(deps.reportError(error, request).body))
      return reply
    }
    socket.detach()
    throw error
  }
}

function readModelId(model: unknown): string {
  if (typeof model === 'string') return model
  throw new ApiError('invalid_request', `'model': expected text.`, { param: 'model' })
}
