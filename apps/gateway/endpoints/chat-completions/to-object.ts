import type { FinishedGeneration } from '../../generation/collect.ts'
import { toChatUsage, toFinishReason } from './to-finish.ts'

/** What names an answer: the same on the object and on every chunk. */
export type ChatIdentity = {
  /** The request's id; the answer's is made from it. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** The public model id that the caller used. */
  readonly model: string
}

/** The body of a chat completion that is not streamed. */
export function toObject(generation: FinishedGeneration, identity: ChatIdentity) {
  const { text, reasoning, toolCalls, finishReason, usage } = generation
  return {
    id: toCompletionId(identity.id),
    object: 'chat.completion',
    created: identity.created,
    model: identity.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text === '' && toolCalls.length > 0 ? null : text,
          ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
          ...(toolCalls.length === 0
            ? {}
            : {
                tool_calls: toolCalls.map((call) => ({
                  id: call.id,
                  type: 'function',
                  function: { name: call.name, arguments: call.arguments },
                })),
              }),
        },
        finish_reason: toFinishReason(finishReason),
      },
    ],
    usage: toChatUsage(usage),
  }
}

export function toCompletionId(id: string): string {
  return `chatcmpl-${id}`
}
