import type { EngineLimits } from './check-request.ts'
import type { ChunkMessage, CompleteMessage } from './decode-chunk.ts'
import type { EngineRequest } from './engine-client.ts'
import { EngineError } from './engine-error.ts'

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
 * Returns the error of a call whose end shows that the engine has lost tokens; null if it does not show this. If the
 * engine has counted more tokens, the last ones are lost. An output ends as `length` only at the limit of the request
 * or at the end of the context; if it ends earlier, the lost tokens may be anywhere.
 */
export function findLossAtEnd(
  { finishReason, completionTokens }: CompleteMessage,
  received: number,
  { request, limits }: CheckedCall,
): EngineError | null {
  if (finishReason !== 'stop' && finishReason !== 'length') return null
  if (completionTokens > received) {
    return new EngineError('gap', `the engine counts ${completionTokens} tokens, with ${received} received`)
  }
  if (finishReason !== 'length' || limits === null) return null
  const most = Math.min(request.maxTokens, limits.maxContextLength - request.promptIds.length)
  if (received >= most) return null
  return new EngineError(
    'damaged',
    `the engine ended at the limit of ${most} tokens, with ${received} received`,
  )
}

/** A request, and the limits of its engine; null until they are known. */
export type CheckedCall = { readonly request: GapRequest; readonly limits: EngineLimits | null }

type GapRequest = Pick<EngineRequest, 'promptIds' | 'maxTokens' | 'topLogprobs' | 'promptLogprobs'>
