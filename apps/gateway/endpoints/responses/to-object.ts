import type { Usage } from '#libs/contracts/generation-event.ts'
import type { FinishedGeneration } from '../../generation/collect.ts'
import type { SpacedNames } from '../fields/tool-names.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { Answer } from '../generation-endpoint.ts'
import type { ResponseObject, ResponseSettings } from './response-object.ts'
import { toEndStatus, toItems } from './to-items.ts'

export type ResponsesOptions = {
  /** The settings of the request that the response repeats. */
  readonly settings: ResponseSettings
  readonly spacedNames: SpacedNames
}

/** Returns the body of a response that is not streamed. */
export function toObject(generation: FinishedGeneration, answer: Answer<ResponsesOptions>): ResponseObject {
  const { finishReason, usage } = generation
  return {
    ...toResponse(answer, { status: toEndStatus(finishReason), usage }),
    output: toItems(generation, { requestId: answer.id, spacedNames: answer.options.spacedNames }),
  }
}

type Outcome =
  | { readonly status: 'in_progress' }
  | { readonly status: 'completed' | 'incomplete'; readonly usage: Usage }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } }

/** Returns the response without its output. */
export function toResponse(
  answer: Answer<ResponsesOptions>,
  outcome: Outcome,
): Omit<ResponseObject, 'output'> {
  const { status } = outcome
  return {
    id: `resp_${answer.id}`,
    object: 'response',
    created_at: answer.created,
    completed_at: status === 'completed' ? answer.nowS() : null,
    status,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    error: 'error' in outcome ? { code: outcome.error.code, message: outcome.error.message } : null,
    model: answer.model.id,
    usage: 'usage' in outcome ? toResponseUsage(outcome.usage) : null,
    ...answer.options.settings,
  }
}

/**
 * Returns the usage of a response. Both `…_details` objects are always present, because some clients reject a usage
 * that has only one of them.
 */
function toResponseUsage(usage: Usage) {
  return {
    input_tokens: usage.promptTokens,
    // Writing to the cache is never charged, but OpenAI's newest clients require the field.
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: 0 },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.promptTokens + usage.completionTokens,
    ...toUsageCost(usage),
  }
}
