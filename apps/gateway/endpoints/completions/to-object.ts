import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { FinishedGeneration } from '../../generation/collect.ts'
import type { Answer } from '../generation-endpoint.ts'
import type { CompletionFinishReason, CompletionObject } from './completion-object.ts'

/** The body of a legacy completion that is not streamed. */
export function toObject(
  { text, finishReason, usage }: FinishedGeneration,
  answer: Answer<null>,
): CompletionObject {
  return {
    id: toCompletionId(answer.id),
    object: 'text_completion',
    created: answer.created,
    model: answer.model.id,
    choices: [{ index: 0, text, finish_reason: toFinishReason(finishReason) }],
    usage: {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      total_tokens: usage.promptTokens + usage.completionTokens,
    },
  }
}

/** The id of the answer: the same in the whole object and in every chunk. */
export function toCompletionId(requestId: string): string {
  return `cmpl-${requestId}`
}

/** The legacy interface knows no tool calls: a turn that ended with one has simply stopped. */
export function toFinishReason(reason: GenerationEnd['finishReason']): CompletionFinishReason {
  return reason === 'length' ? 'length' : 'stop'
}
