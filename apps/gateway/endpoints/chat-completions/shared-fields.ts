import type { GenerationEnd, Usage } from '#libs/contracts/generation-event.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { ChatFinishReason, ChatUsage } from './chat-object.ts'

/** The completion's id, the same on the whole object and on every chunk. */
export function toCompletionId(requestId: string): string {
  return `chatcmpl-${requestId}`
}

/** The chat interface's name of a finish reason. */
export function toFinishReason(reason: GenerationEnd['finishReason']): ChatFinishReason {
  return reason === 'tool-calls' ? 'tool_calls' : reason
}

/** The chat interface's usage object. Both details are always present: some clients reject a usage that has only one. */
export function toChatUsage(usage: Usage): ChatUsage {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    ...toUsageCost(usage),
  }
}
