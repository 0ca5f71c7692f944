import { setTimeout as sleep } from 'node:timers/promises'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import { checkPrompt, checkRequest, type EngineLimits } from './check-request.ts'
import { decodeChunk } from './decode-chunk.ts'
import type { EngineClient } from './engine-client.ts'
import { withPrompt } from './with-prompt.ts'
import { EngineError, toEngineError } from './engine-error.ts'
import { fromLoadsMessage, fromServerInfoMessage, toGenerateMessage } from './engine-wire.ts'
import { runGenerate } from './generate-call.ts'
import { isCallFailure } from './transport/call-failure.ts'
import type { Transport } from './transport/transport.ts'

const CALL_TIMEOUT_MS = 5_000
/** An embedding may wait behind others in the engine. */
const EMBED_TIMEOUT_MS = 120_000
/** A killed engine reports itself unhealthy within 200 ms of failing its calls. */
const HEALTH_SETTLES_MS = 250

/** Returns a client that uses vLLM's own gRPC (`vllm serve --grpc`). Closing the client closes the transport. */
export function createEngineOverTransport(transport: Transport): EngineClient {
  const { service } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine
  const generate = {
    path: service.Generate.path,
    requestSerialize: withPrompt(service.Generate.requestSerialize),
    responseDeserialize: decodeChunk,
  }
  const embed = { ...service.Embed, requestSerialize: withPrompt(service.Embed.requestSerialize) }
  const { unary, connections } = transport
  let limits: EngineLimits | null = null

  const askHealth = async () => await unary(service.HealthCheck, {}, { timeoutMs: CALL_TIMEOUT_MS })

  async function isHealthy(): Promise<boolean> {
    if (!(await askHealth()).healthy) return false
    await sleep(HEALTH_SETTLES_MS)
    return (await askHealth()).healthy
  }

  return {
    async generate(request, { signal, onTokens }) {
      if (signal.aborted) return null
      checkRequest(request, limits)
      const message = { message: toGenerateMessage(request), promptIds: request.promptIds }
      return await runGenerate((listener) => transport.serverStream(generate, message, listener), {
        signal,
        onTokens,
        checked: { request, limits },
        toError: (failure, hasTokens) => toEngineError(failure, { hasTokens, isHealthy, connections }),
        onAbandoned() {
          // A healthy engine stops the work because the call is cancelled. So nothing needs to be done if `Abort`
          // fails.
          unary(service.Abort, { requestIds: [request.requestId] }, { timeoutMs: CALL_TIMEOUT_MS }).catch(
            () => undefined,
          )
        },
      })
    },
    async embed({ requestId, promptIds }, signal) {
      if (signal.aborted) throw new EngineError('unavailable', 'cancelled before it began')
      checkPrompt(promptIds, limits, 0)
      const message = { message: { requestId }, promptIds }
      try {
        const options = { timeoutMs: EMBED_TIMEOUT_MS, signal }
        const { embedding, promptTokens } = await unary(embed, message, options)
        // In an engine with half precision, values of a vector can overflow to infinity or NaN. JSON numbers cannot
        // express these values. A vector in base64 can, and a caller would store such a vector in its index.
        if (!embedding.every(Number.isFinite)) {
          throw new EngineError('failed', 'the vector has values that are not finite')
        }
        return { embedding: Float32Array.from(embedding), promptTokens }
      } catch (error) {
        if (!isCallFailure(error)) throw error
        throw await toEngineError(error, { hasTokens: false, isHealthy, connections })
      }
    },
    async healthCheck() {
      const { healthy, message } = await orUnavailable(askHealth())
      return { healthy, message }
    },
    async getModelInfo() {
      const info = await orUnavailable(unary(service.GetModelInfo, {}, { timeoutMs: CALL_TIMEOUT_MS }))
      const { maxContextLength, isGeneration, vocabSize: vocabularySize } = info
      if (vocabularySize > 0) limits = { maxContextLength, vocabularySize }
      return { maxContextLength, isGeneration, vocabularySize }
    },
    async getServerInfo() {
      const info = await orUnavailable(unary(service.GetServerInfo, {}, { timeoutMs: CALL_TIMEOUT_MS }))
      return fromServerInfoMessage(info)
    },
    async getLoads() {
      return fromLoadsMessage(
        await orUnavailable(unary(service.GetLoads, {}, { timeoutMs: CALL_TIMEOUT_MS })),
      )
    },
    close: transport.close,
  }
}

/** Awaits an answer about the engine itself. Every failure means that the engine cannot be reached. */
async function orUnavailable<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    throw new EngineError('unavailable', error instanceof Error ? error.message : 'unknown failure', error)
  }
}
