import type { Usage } from '#libs/contracts/generation-event.ts'
import type { FinishedGeneration } from '../../generation/output/collect.ts'
import type { SpacedNames } from '../fields/tool-names.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { Answer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import type { ResponseObject, ResponseSettings } from './response-object.ts'
import { sealReasoning } from './sealed-reasoning.ts'
import { toEndStatus, toItems, type Seal } from './to-items.ts'

export type ResponsesOptions = {
  /** The JSON of the settings that the response repeats (`ResponseSettings`). */
  readonly settings: string
  /** True: reasoning items have the encrypted reasoning as well. */
  readonly sealsReasoning: boolean
  readonly spacedNames: SpacedNames
}

/** Returns the JSON of a response that is not streamed. */
export function toObject(generation: FinishedGeneration, answer: Answer<ResponsesOptions>): string {
  const { finishReason, usage } = generation
  const { spacedNames } = answer.options
  const options = { requestId: answer.id, spacedNames, seal: toSeal(answer) }
  const items = toItems(generation, options).map(toJson)
  return toResponse(answer, { status: toEndStatus(finishReason), usage }, items)
}

/** Returns the function that encrypts reasoning; null if the request does not ask for it. */
export function toSeal({ options, reasoningKeys }: Answer<ResponsesOptions>): Seal | null {
  return options.sealsReasoning ? (text) => sealReasoning(text, reasoningKeys) : null
}

type Outcome =
  | { readonly status: 'in_progress' }
  | { readonly status: 'completed' | 'incomplete'; readonly usage: Usage }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } }

/** Returns the JSON of a response. `items` has the JSON of each item of its output. */
export function toResponse(
  answer: Answer<ResponsesOptions>,
  outcome: Outcome,
  items: readonly string[],
): string {
  const { status } = outcome
  const head: Omit<ResponseObject, 'output' | keyof ResponseSettings> = {
    id: `resp_${answer.id}`,
    object: 'response',
    created_at: answer.created,
    completed_at: status === 'completed' ? answer.nowS() : null,
    status,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    error: 'error' in outcome ? { code: outcome.error.code, message: outcome.error.message } : null,
    model: answer.model.id,
    usage: 'usage' in outcome ? toResponseUsage(outcome.usage) : null,
  }
  const settings = answer.options.settings.slice(1, -1)
  return `${toJson(head).slice(0, -1)},${settings},"output":[${items.join(',')}]}`
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
