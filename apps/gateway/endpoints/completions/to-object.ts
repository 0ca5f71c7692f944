import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { FinishedChoice, FinishedGeneration } from '../../generation/output/collect.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { Answer } from '../generation-endpoint.ts'
import { toCompletionLogprobs } from './completion-logprobs.ts'
import type { CompletionFinishReason, CompletionObject } from './completion-object.ts'
import type { CompletionOptions } from './to-chunks.ts'

/** Returns the body of a legacy completion that is not streamed. */
export function toObject(
  generation: FinishedGeneration,
  answer: Answer<CompletionOptions>,
): CompletionObject {
  const { otherChoices = [], usage } = generation
  return {
    id: toCompletionId(answer.id),
    object: 'text_completion',
    created: answer.created,
    model: answer.model.id,
    choices: [generation, ...otherChoices].map((choice, index) => toChoice(choice, index, answer.options)),
    usage: {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      total_tokens: usage.promptTokens + usage.completionTokens,
      ...toUsageCost(usage),
    },
  }
}

function toChoice(
  { text, promptLogprobs = [], logprobs = [], finishReason }: FinishedChoice,
  index: number,
  { logprobs: count, echo = '' }: CompletionOptions,
): CompletionObject['choices'][number] {
  return {
    index,
    text: echo + text,
    ...(count !== null && {
      logprobs: toCompletionLogprobs([...promptLogprobs, ...logprobs], { count, offset: 0 }),
    }),
    finish_reason: toFinishReason(finishReason),
  }
}

/** Returns the completion's id, which is the same on the whole object and on every chunk. */
export function toCompletionId(requestId: string): string {
  return `cmpl-${requestId}`
}

/**
 * Returns the legacy interface's name of a finish reason. The interface has no tool calls, so a generation that ended
 * with one is reported as `stop`.
 */
export function toFinishReason(reason: GenerationEnd['finishReason']): CompletionFinishReason {
  return reason === 'length' ? 'length' : 'stop'
}
