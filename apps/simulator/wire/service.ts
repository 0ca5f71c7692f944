import { createHash } from 'node:crypto'
import { status, type MethodDefinition, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js'
import type { sendUnaryData, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { GetTokenizerChunk } from '#proto/types/smg/grpc/common/GetTokenizerChunk.ts'
import type { FlushCacheResponse } from '#proto/types/smg/grpc/common/FlushCacheResponse.ts'
import type { AbortRequest__Output } from '#proto/types/vllm/grpc/engine/AbortRequest.ts'
import type { EmbedRequest__Output } from '#proto/types/vllm/grpc/engine/EmbedRequest.ts'
import type { EmbedResponse } from '#proto/types/vllm/grpc/engine/EmbedResponse.ts'
import type { GenerateRequest__Output } from '#proto/types/vllm/grpc/engine/GenerateRequest.ts'
import type { GetLoadsResponse } from '#proto/types/vllm/grpc/engine/GetLoadsResponse.ts'
import type { GetModelInfoResponse } from '#proto/types/vllm/grpc/engine/GetModelInfoResponse.ts'
import type { GetServerInfoResponse } from '#proto/types/vllm/grpc/engine/GetServerInfoResponse.ts'
import type { HealthCheckResponse } from '#proto/types/vllm/grpc/engine/HealthCheckResponse.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import type { EngineConfig } from '../config.ts'
import type { EngineCore } from '../engine-core.ts'
import type { Model } from '../model.ts'
import type { ServicerTraits } from '../servicer-version.ts'
import { embed } from './embed.ts'
import { generate, type GenerateCall, type GenerateParts, type Generation } from './generate.ts'
import { modelInfo, serverInfo } from './infos.ts'
import { InvalidRequest, STILL_LOADING, toStatus, UNKNOWN_METHOD, type Status } from './statuses.ts'

type Definition = ProtoGrpcType['vllm']['grpc']['engine']['VllmEngine']['service']

/**
 * Returns the engine's service. Its Generate takes responses as encoded bytes: with hundreds of streams, encoding each
 * token by reflection would limit the simulator.
 */
export function engineService(): ServiceDefinition {
  const definition: Definition =
    loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine.service
  const bytes: MethodDefinition<GenerateRequest__Output, Buffer> = {
    path: definition.Generate.path,
    requestStream: false,
    responseStream: true,
    requestSerialize: definition.Generate.requestSerialize,
    requestDeserialize: definition.Generate.requestDeserialize,
    responseSerialize: (encoded) => encoded,
    responseDeserialize: (encoded) => encoded,
  }
  return { ...definition, Generate: bytes }
}

export type EngineHandlers = {
  readonly implementation: UntypedServiceImplementation
  /** Ends every open call with this status. */
  failAll(failure: Status): void
}

/** The RPCs of one engine core. */
export function createEngineHandlers(options: {
  config: EngineConfig
  model: Model
  core: EngineCore
  parts: GenerateParts
  isLoading: () => boolean
}): EngineHandlers {
  const { config, model, core, parts, isLoading } = options
  const { traits } = parts
  const generations = new Set<Generation>()
  const embeddings = new Set<(failure: Status) => void>()

  async function runGenerate(call: GenerateCall): Promise<void> {
    let generation: Generation | null = null
    const remember = (started: Generation) => generations.add((generation = started))
    try {
      await generate(call, parts, remember)
    } finally {
      if (generation !== null) generations.delete(generation)
    }
  }

  const implementation: UntypedServiceImplementation = {
    Generate(call: GenerateCall) {
      if (isLoading()) call.emit('error', STILL_LOADING)
      else if (config.kind === 'chat') void runGenerate(call)
      else call.emit('error', toStatus(new InvalidRequest('This model does not support generation'), traits))
    },
    Embed(call: ServerUnaryCall<EmbedRequest__Output, EmbedResponse>, reply: sendUnaryData<EmbedResponse>) {
      if (isLoading()) return reply(STILL_LOADING)
      const end = (result: EmbedResponse | Status) => {
        embeddings.delete(end)
        if ('code' in result) reply(result)
        else reply(null, result)
      }
      try {
        // As in the servicer, the request is checked before the model.
        if (call.request.tokenized !== null && config.kind !== 'embedding') {
          throw new InvalidRequest('This model does not support pooling')
        }
        const { maxModelLen, dimension } = config
        const { paddedVocabularySize: vocabularySize } = model
        const running = embed(call.request, { core, maxModelLen, vocabularySize, dimension }, end)
        embeddings.add(end)
        call.on('cancelled', () => {
          embeddings.delete(end)
          running.withdraw()
        })
      } catch (error) {
        reply(toStatus(error, traits))
      }
    },
    HealthCheck(_call: unknown, reply: sendUnaryData<HealthCheckResponse>) {
      const healthy = core.alive() && !isLoading()
      const problem = isLoading() ? 'Engine is starting' : 'Engine is not alive'
      reply(null, { healthy, message: healthy ? 'Health' : problem })
    },
    Abort(call: ServerUnaryCall<AbortRequest__Output, object>, reply: sendUnaryData<object>) {
      const ids = new Set(call.request.requestIds)
      for (const generation of generations) if (ids.has(generation.requestId)) generation.abort()
      reply(null, {})
    },
    GetModelInfo(_call: unknown, reply: sendUnaryData<GetModelInfoResponse>) {
      reply(null, modelInfo(config, model))
    },
    GetServerInfo(_call: unknown, reply: sendUnaryData<GetServerInfoResponse>) {
      reply(null, serverInfo(config, model))
    },
    GetLoads(_call: unknown, reply: sendUnaryData<GetLoadsResponse>) {
      if (isLoading()) reply(STILL_LOADING)
      else reply(null, loads(config, core, traits))
    },
    FlushCache(_call: unknown, reply: sendUnaryData<FlushCacheResponse>) {
      if (!traits.isNewServicer) return reply(UNKNOWN_METHOD)
      const success = core.flushCache()
      const refusal = 'KV prefix cache reset refused; requests may be in flight'
      reply(null, { success, message: success ? 'Local KV prefix cache flushed successfully' : refusal })
    },
    GetTokenizer(call: ServerWritableStream<object, GetTokenizerChunk>) {
      sendBundle(call, model.bundle)
    },
    StartProfile: (_call: unknown, reply: sendUnaryData<object>) =>
      reply(traits.isNewServicer ? noProfiler('Start') : UNKNOWN_METHOD),
    StopProfile: (_call: unknown, reply: sendUnaryData<object>) =>
      reply(traits.isNewServicer ? noProfiler('Stop') : UNKNOWN_METHOD),
    SubscribeKvEvents: (call: ServerWritableStream<object, object>) => call.emit('error', NO_KV_EVENTS),
  }
  return {
    implementation,
    failAll(failure) {
      for (const generation of generations) generation.fail(failure)
      for (const end of embeddings) end(failure)
    },
  }
}

const CHUNK_BYTES = 65_536

function sendBundle(call: ServerWritableStream<object, GetTokenizerChunk>, bundle: Buffer): void {
  const sha256 = createHash('sha256').update(bundle).digest('hex')
  for (let from = 0; from < bundle.length; from += CHUNK_BYTES) {
    const to = from + CHUNK_BYTES
    call.write({ data: bundle.subarray(from, to), sha256: to >= bundle.length ? sha256 : '' })
  }
  call.end()
}

function loads(
  config: EngineConfig,
  core: EngineCore,
  { vllmVersion, isNewServicer }: ServicerTraits,
): GetLoadsResponse {
  const load = core.load()
  const usage = load.usedTokens / load.capacityTokens
  const always = {
    dpRank: 0,
    numRunningReqs: load.running,
    numWaitingReqs: load.waiting,
    numTotalReqs: load.running + load.waiting,
    tokenUsage: usage,
  }
  const newer = {
    numUsedTokens: load.usedTokens,
    maxTotalNumTokens: load.capacityTokens,
    genThroughput: core.throughput(),
    cacheHitRate: load.cacheHitRate,
    utilization: usage,
    maxRunningRequests: config.maxNumSeqs,
    numWaitingUncachedTokens: load.waitingUncachedTokens,
  }
  return {
    timestamp: new Date(wallClockMs()).toISOString().replace('Z', '000+00:00'),
    version: vllmVersion,
    dpRankCount: 1,
    loads: [isNewServicer ? { ...always, ...newer } : always],
  }
}

function noProfiler(what: 'Start' | 'Stop'): Status {
  return {
    code: status.INTERNAL,
    details: `${what} profiling failed: Profiling is not enabled. Please set --profiler-config to enable profiling.`,
  }
}

const NO_KV_EVENTS: Status = {
  code: status.UNIMPLEMENTED,
  details:
    'KV cache events not enabled. Start vLLM with --kv-events-config ' +
    `'{"enable_kv_cache_events": true, "publisher": "zmq"}'`,
}
