import { MAX_TOP_LOGPROBS } from '#libs/contracts/generation-request.ts'
import type { EngineRequest } from './engine-client.ts'
import { EngineError } from './engine-error.ts'

/**
 * Refuses requests that the engine would refuse, or would misread (its proto does not distinguish a `top_p` of 0 from
 * an absent `top_p`). Throws an EngineError of kind `refused` whose message names the field as callers know it. Source
 * of the allowed values: vLLM's SamplingParams, as recorded from its refusals.
 */
export function checkRequest(request: EngineRequest): void {
  const { promptIds, sampling, maxTokens, minTokens, stop, topLogprobs, promptLogprobs } = request
  if (promptIds.length === 0) refuse('the prompt must not be empty')
  if (!Number.isInteger(maxTokens) || maxTokens < 1 || maxTokens > MAX_UINT32) {
    refuse(`max_tokens must be a whole number of at least 1, got ${maxTokens}`)
  }
  within('min_tokens', minTokens, [0, maxTokens])
  within('temperature', sampling.temperature, [0, 2])
  within('top_p', sampling.topP, [0, 1])
  if (sampling.topP === 0) refuse('top_p must be greater than 0, got 0')
  within('min_p', sampling.minP, [0, 1])
  within('frequency_penalty', sampling.frequencyPenalty, [-2, 2])
  within('presence_penalty', sampling.presencePenalty, [-2, 2])
  within('repetition_penalty', sampling.repetitionPenalty, [0, MAX_FLOAT32])
  if (sampling.repetitionPenalty === 0) refuse('repetition_penalty must be greater than 0, got 0')
  within('top_k', sampling.topK, [-1, MAX_UINT32])
  for (const [id, bias] of Object.entries(sampling.logitBias ?? {})) {
    if (!/^\d{1,10}$/.test(id) || Number(id) > MAX_INT32)
      refuse(`logit_bias names ${id}, which is no token id`)
    within(`logit_bias of token ${id}`, bias, [-MAX_FLOAT32, MAX_FLOAT32])
  }
  within('logprobs', topLogprobs, [0, MAX_TOP_LOGPROBS])
  within('logprobs of the prompt', promptLogprobs, [0, MAX_TOP_LOGPROBS])
  if (stop.includes('')) refuse('stop must not contain an empty string')
}

const MAX_INT32 = 2 ** 31 - 1
const MAX_UINT32 = 2 ** 32 - 1
const MAX_FLOAT32 = 3.4e38

function within(field: string, value: number | undefined, [min, max]: readonly [number, number]): void {
  if (value === undefined || (value >= min && value <= max)) return
  refuse(`${field} must be between ${min} and ${max}, got ${value}`)
}

function refuse(message: string): never {
  throw new EngineError('refused', message)
}
