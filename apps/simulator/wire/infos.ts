import type { GetModelInfoResponse } from '#proto/types/vllm/grpc/engine/GetModelInfoResponse.ts'
import type { GetServerInfoResponse } from '#proto/types/vllm/grpc/engine/GetServerInfoResponse.ts'
import type { EngineConfig } from '../config.ts'
import type { Model } from '../model.ts'
import { traitsOf } from '../servicer-version.ts'

export function modelInfo(config: EngineConfig, model: Model): GetModelInfoResponse {
  const defaults = model.generationDefaults ?? {}
  return {
    modelPath: model.folder,
    isGeneration: config.kind === 'chat',
    maxContextLength: config.maxModelLen,
    vocabSize: model.paddedVocabularySize,
    supportsVision: false,
    servedModelName: config.model,
    tokenizerPath: model.folder,
    modelType: model.modelType,
    architectures: [...model.architectures],
    // Only the ids of config.json: clients must add the ids of generation_config.json themselves.
    eosTokenIds: [...model.configEosIds],
    padTokenId: model.padId,
    bosTokenId: model.bosId,
    maxReqInputLen: config.maxModelLen,
    defaultSamplingParamsJson: JSON.stringify({
      temperature: defaults.temperature,
      top_p: defaults.topP,
      top_k: defaults.topK,
      min_p: defaults.minP,
      repetition_penalty: defaults.repetitionPenalty,
    }),
  }
}

/** Returns the server's information. Fields that a text engine without disaggregation leaves empty are absent. */
export function serverInfo(config: EngineConfig, model: Model): GetServerInfoResponse {
  const { isNewServicer, isRust } = traitsOf(config.servicerVersion)
  if (!isNewServicer) return { dataParallelSize: 1 }
  const thinks = model.family.reasoning !== 'none'
  return {
    ...(isRust && { serverType: 'vllm-grpc', uptimeSeconds: process.uptime() }),
    dataParallelSize: 1,
    kvCacheDtype: 'auto',
    blockSize: config.blockSize,
    modelDtype: 'torch.float32',
    multimodalEncoderDtype: 'float32',
    maxNumSeqs: config.maxNumSeqs,
    // A thinking model must be served like this, or its grammar would forbid the thought.
    engineReasoningParser: thinks ? 'qwen3' : '',
    constrainedDecodingStart: thinks ? 'after_reasoning' : 'first_token',
  }
}
