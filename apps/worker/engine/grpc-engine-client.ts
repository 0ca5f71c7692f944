import { setTimeout as sleep } from 'node:timers/promises'
import { credentials, type ServiceError } from '@grpc/grpc-js'
import { callUnary } from '#libs/grpc/call-unary.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { UNLIMITED_MESSAGES } from '#libs/grpc/serve-grpc.ts'
import type { AbortRequest } from '#proto/types/vllm/grpc/engine/AbortRequest.ts'
import type { AbortResponse__Output } from '#proto/types/vllm/grpc/engine/AbortResponse.ts'
import type { EmbedRequest } from '#proto/types/vllm/grpc/engine/EmbedRequest.ts'
import type { EmbedResponse__Output } from '#proto/types/vllm/grpc/engine/EmbedResponse.ts'
import type { GetLoadsRequest } from '#proto/types/vllm/grpc/engine/GetLoadsRequest.ts'
import type { GetLoadsResponse__Output } from '#proto/types/vllm/grpc/engine/GetLoadsResponse.ts'
import type { GetModelInfoRequest } from '#proto/types/vllm/grpc/engine/GetModelInfoRequest.ts'
import type { GetModelInfoResponse__Output } from '#proto/types/vllm/grpc/engine/GetModelInfoResponse.ts'
import type { GetServerInfoRequest } from '#proto/types/vllm/grpc/engine/GetServerInfoRequest.ts'
import type { GetServerInfoResponse__Output } from '#proto/types/vllm/grpc/engine/GetServerInfoResponse.ts'
import type { HealthCheckRequest } from '#proto/types/vllm/grpc/engine/HealthCheckRequest.ts'
import type { HealthCheckResponse__Output } from '#proto/types/vllm/grpc/engine/HealthCheckResponse.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import { checkRequest } from './check-request.ts'
import { decodeChunk } from './decode-chunk.ts'
import type { EngineClient, EngineOutput, EngineRequest } from './engine-client.ts'
import { EngineError, toEngineError } from './engine-error.ts'
import {
  fromLoadsMessage,
  fromModelInfoMessage,
  fromServerInfoMessage,
  toGenerateMessage,
} from './engine-wire.ts'
import { iterateGenerate } from './generate-call.ts'

/**
 * No keepalive pings: vLLM up to 0.31 answers them by killing all calls. Quick reconnects: with the defaults a
 * client that starts before its engine notices it most of a minute late. No proxy: engines are next door. No
 * retries: a generation must never run twice behind our back.
 */
const CHANNEL_OPTIONS = {
  ...UNLIMITED_MESSAGES,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
} as const

const ASK_TIMEOUT_MS = 5_000
/** An embedding waits behind others in the engine. */
const EMBED_TIMEOUT_MS = 120_000
/** A killed engine says so within 200 ms of failing its calls. */
const HEALTH_SETTLES_MS = 250

/** An engine over vLLM's own gRPC (`vllm serve --grpc`) at `address` (`host:port`); connects on first use. */
export function createGrpcEngineClient({ address }: { readonly address: string }): EngineClient {
  const { VllmEngine } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine
  const client = new VllmEngine(address, credentials.createInsecure(), CHANNEL_OPTIONS)
  const { path, requestSerialize } = VllmEngine.service.Generate

  const askEmbed = unary<EmbedRequest, EmbedResponse__Output>(
    (...call) => client.Embed(...call),
    EMBED_TIMEOUT_MS,
  )
  const askAbort = unary<AbortRequest, AbortResponse__Output>(
    (...call) => client.Abort(...call),
    ASK_TIMEOUT_MS,
  )
  const askHealth = unary<HealthCheckRequest, HealthCheckResponse__Output>(
    (...call) => client.HealthCheck(...call),
    ASK_TIMEOUT_MS,
  )
  const askModelInfo = unary<GetModelInfoRequest, GetModelInfoResponse__Output>(
    (...call) => client.GetModelInfo(...call),
    ASK_TIMEOUT_MS,
  )
  const askServerInfo = unary<GetServerInfoRequest, GetServerInfoResponse__Output>(
    (...call) => client.GetServerInfo(...call),
    ASK_TIMEOUT_MS,
  )
  const askLoads = unary<GetLoadsRequest, GetLoadsResponse__Output>(
    (...call) => client.GetLoads(...call),
    ASK_TIMEOUT_MS,
  )

  async function isHealthy(): Promise<boolean> {
    if (!(await askHealth({})).healthy) return false
    await sleep(HEALTH_SETTLES_MS)
    return (await askHealth({})).healthy
  }

  function start(request: EngineRequest, signal: AbortSignal): AsyncIterator<EngineOutput, undefined> {
    checkRequest(request)
    const stream = client.makeServerStreamRequest(
      path,
      requestSerialize,
      decodeChunk,
      toGenerateMessage(request),
    )
    return iterateGenerate(stream, {
      signal,
      toError: (error, hasTokens) => toEngineError(error, { hasTokens, isHealthy }),
      onAbandoned() {
        // The cancelled call alone stops a healthy engine; an engine that this cannot reach has nothing to stop.
        askAbort({ requestIds: [request.requestId] }).catch(() => undefined)
      },
    })
  }

  return {
    generate: (request, signal) => ({
      [Symbol.asyncIterator]: () => (signal.aborted ? nothing() : start(request, signal)),
    }),
    async embed({ requestId, promptIds }, signal) {
      if (signal.aborted) throw new EngineError('unavailable', 'given up before it began')
      if (promptIds.length === 0) throw new EngineError('refused', 'the input must not be empty')
      const message = { requestId, tokenized: { originalText: '', inputIds: Array.from(promptIds) } }
      try {
        const { embedding, promptTokens } = await askEmbed(message, signal)
        return { embedding: Float32Array.from(embedding), promptTokens }
      } catch (error) {
        if (!isServiceError(error)) throw error
        throw await toEngineError(error, { hasTokens: false, isHealthy })
      }
    },
    async abort(requestIds) {
      await asEngine(askAbort({ requestIds: [...requestIds] }))
    },
    async healthCheck() {
      const { healthy, message } = await asEngine(askHealth({}))
      return { healthy, message }
    },
    getModelInfo: async () => fromModelInfoMessage(await asEngine(askModelInfo({}))),
    getLoads: async () => fromLoadsMessage(await asEngine(askLoads({}))),
    getServerInfo: async () => fromServerInfoMessage(await asEngine(askServerInfo({}))),
    close: () => client.close(),
  }
}

function unary<Request, Response>(
  method: Parameters<typeof callUnary<Request, Response>>[0],
  timeoutMs: number,
): (request: Request, signal?: AbortSignal) => Promise<Response> {
  return async (request, signal) =>
    await callUnary(method, request, { timeoutMs, ...(signal !== undefined && { signal }) })
}

/** For questions about the engine itself: whatever goes wrong, it cannot be reached. */
async function asEngine<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    throw new EngineError('unavailable', error instanceof Error ? error.message : 'unknown failure', error)
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}

// oxlint-disable-next-line require-yield
async function* nothing(): AsyncGenerator<EngineOutput, undefined> {
  return undefined
}
