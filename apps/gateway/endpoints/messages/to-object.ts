import type { GenerationEnd, Usage } from '#libs/contracts/generation-event.ts'
import { JsonText, writeExact } from '#libs/json-schema/exact-json.ts'
import { isJsonObject } from '#libs/json-schema/json-schema.ts'
import { isWithinLevels, MAX_LEVELS } from '#libs/json-schema/limits.ts'
import type { FinishedGeneration, OutputPart } from '../../generation/output/collect.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { Answer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import type { MessageObject, MessageUsage, StopReason } from './message-object.ts'

/** Returns the JSON of a message that is not streamed. */
export function toObject(generation: FinishedGeneration, answer: Answer<unknown>): string {
  const { parts, usage } = generation
  return writeExact({ ...toMessage(answer, usage), content: parts.map(toBlock), ...toStop(generation) })
}

/** Returns the message as it begins: without content, and without the reason of its end. */
export function toMessage({ id, model }: Answer<unknown>, usage: Usage): MessageObject {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: model.id,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: toMessageUsage(usage),
  }
}

export function toMessageUsage(usage: Usage): MessageUsage {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    // Writing to the cache is never charged.
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.completionTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    service_tier: 'standard',
    ...toUsageCost(usage),
  }
}

/** Returns why a message ended, and the stop sequence if one ended it. */
export function toStop({ finishReason, stopString }: Pick<GenerationEnd, 'finishReason' | 'stopString'>): {
  stop_reason: StopReason
  stop_sequence: string | null
} {
  if (finishReason === 'stop' && stopString !== undefined) {
    return { stop_reason: 'stop_sequence', stop_sequence: stopString }
  }
  return { stop_reason: STOP_REASONS[finishReason], stop_sequence: null }
}

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use' } as const

/** Clients send reasoning back only with a signature. */
export const SIGNATURE = 'bWlsbHJhY2U='

function toBlock(part: OutputPart): object {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'reasoning':
      return { type: 'thinking', thinking: part.text, signature: SIGNATURE }
    case 'tool-call': {
      const { id, name, arguments: text } = part.call
      return { type: 'tool_use', id, name, input: new JsonText(toInputJson(text)) }
    }
  }
}

/**
 * Returns the JSON of a call's arguments as an object, as the model wrote it. The arguments of a call that was cut off,
 * or that the model wrote wrongly, are no JSON object. In that case the object has their text in the field `arguments`,
 * so that the tool's own check can report the text to the model.
 */
function toInputJson(text: string): string {
  if (text === '') return '{}'
  try {
    const input: unknown = JSON.parse(text)
    if (isJsonObject(input) && isWithinLevels(input, MAX_LEVELS)) return text
  } catch {
    // Not JSON.
  }
  return toJson({ arguments: text })
}

/** Returns the same for a stream, where a call without arguments has an empty text. */
export const toInputText = (text: string): string => (text === '' ? '' : toInputJson(text))
