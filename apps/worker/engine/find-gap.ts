import type { EngineLimits } from './check-request.ts'
import type { ChunkMessage, CompleteMessage } from './decode-chunk.ts'
import type { EngineRequest } from './engine-client.ts'

/**
 * Returns how a chunk shows that the engine has lost tokens of this call, before the chunk or in the chunk. Returns null
 * if it shows no loss. `received` is the number of ids in the earlier chunks. The Python servicer counts the tokens of
 * each chunk, and the Rust servicer counts the tokens of the call so far. A count of 0 is not a report. The first chunk
 * repeats the length of the prompt, and has its log probabilities.
 */
export function findGapInChunk(
  { ids, completionTokens, promptTokens, logprobs, promptLogprobs }: ChunkMessage,
  received: number,
  request: GapRequest,
): string | null {
  const isCounted = completionTokens === ids.length || completionTokens === received + ids.length
  if (!isCounted && completionTokens !== 0) {
    return `counts ${completionTokens} tokens, with ${received} and ${ids.length} received`
  }
  if (request.topLogprobs !== undefined && logprobs?.length !== ids.length) {
    return `has log probabilities of ${logprobs?.length ?? 0} of ${ids.length} tokens`
  }
  if (received > 0) return null
  if (promptTokens === 0) return 'does not know its prompt'
  if (request.promptLogprobs !== undefined && promptLogprobs === undefined) {
    return 'lacks the log probabilities of its prompt'
  }
  return null
}

/**
 * Returns how the end of a call shows that the engine has lost tokens at an unknown place; null if it does not. An
 * output ends as `length` only at the limit of the request, or at the end of the context.
 */
export function findGapAtEnd(
  { finishReason, completionTokens }: CompleteMessage,
  received: number,
  { request, limits }: CheckedCall,
): string | null {
  if (finishReason !== 'stop' && finishReason !== 'length') return null
  if (completionTokens > received) {
    return `counts ${completionTokens} tokens at its end, with ${received} received`
  }
  if (finishReason !== 'length' || limits === null) return null
  const most = Math.min(request.maxTokens, limits.maxContextLength - request.promptIds.length)
  return received < most ? `ended at its limit of ${most} tokens, with ${received} received` : null
}

/** A request, and the limits of its engine; null until they are known. */
export type CheckedCall = { readonly request: GapRequest; readonly limits: EngineLimits | null }

type GapRequest = Pick<EngineRequest, 'promptIds' | 'maxTokens' | 'topLogprobs' | 'promptLogprobs'>
