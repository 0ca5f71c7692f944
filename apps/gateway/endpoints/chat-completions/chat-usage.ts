import type { Usage } from '#libs/contracts/generation-event.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { ChatUsage } from './chat-object.ts'

/**
 * Returns the chat interface's usage object. Both `…_details` objects are always present, because some clients reject a
 * usage that has only one of them.
 */
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
