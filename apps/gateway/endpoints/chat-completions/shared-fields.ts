import type { GenerationEnd, Usage } from '#libs/contracts/generation-event.ts'
import type { ChatFinishReason, ChatUsage } from './chat-object.ts'

/** The id of the answer: the same in the whole object and in every chunk. */
export function toCompletionId(requestId: string): string {
  return `chatcmpl-${requestId}`
}

/** The chat interface's word for how a generation ended. */
export function toFinishReason(reason: GenerationEnd['finishReason']): ChatFinishReason {
  return reason === 'tool-calls' ? 'tool_calls' : reason
}

/** The chat interface's usage object. Both details are always there: some clients refuse half of them. */
export function toChatUsage(usage: Usage): ChatUsage {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  }
}
