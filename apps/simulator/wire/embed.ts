import type { EmbedRequest__Output } from '#proto/types/vllm/grpc/engine/EmbedRequest.ts'
import type { EmbedResponse } from '#proto/types/vllm/grpc/engine/EmbedResponse.ts'
import { embedText } from '../embed-text.ts'
import type { EngineCore } from '../engine-core.ts'
import type { Sequence } from '../scheduler/scheduler.ts'
import { ENGINE_DEAD, InvalidRequest, type Status } from './statuses.ts'
import { validatePrompt } from './validate-generate.ts'

/**
 * Computes one embedding in the engine's steps. `onEnd` receives the vector or the status of the failure; it is not
 * called after `withdraw`. Throws an InvalidRequest for a prompt that the engine refuses.
 */
export function embed(
  request: EmbedRequest__Output,
  parts: { core: EngineCore; maxModelLen: number; vocabularySize: number; dimension: number },
  onEnd: (result: EmbedResponse | Status) => void,
): { withdraw(): void } {
  const { core, maxModelLen, vocabularySize, dimension } = parts
  if (request.tokenized === null) {
    throw new InvalidRequest('EmbedRequest requires tokenized input', { by: 'servicer' })
  }
  const promptIds = request.tokenized.inputIds
  validatePrompt(promptIds, { maxModelLen, vocabularySize, outputTokens: 0 })
  const sequence: Sequence = {
    promptIds,
    readsPrefixCache: false,
    cacheSalt: null,
    next: () => ({ tokenId: null, ended: true }),
  }
  core.submit(sequence, {
    onOutput() {
      const embedding = Array.from(embedText(promptIds, dimension))
      onEnd({ embedding, promptTokens: promptIds.length, embeddingDim: dimension })
    },
    onDeath: () => onEnd(ENGINE_DEAD),
  })
  return { withdraw: () => core.withdraw(sequence) }
}
