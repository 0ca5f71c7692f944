import type { FinishedGeneration } from '../../generation/collect.ts'
import type { Answer } from '../generation-endpoint.ts'
import type { ChatObject } from './chat-object.ts'
import { toChatUsage, toCompletionId, toFinishReason } from './shared-fields.ts'

/** The body of a chat completion that is not streamed. */
export function toObject(generation: FinishedGeneration, answer: Answer<unknown>): ChatObject {
  const { text, reasoning, toolCalls, finishReason, usage } = generation
  return {
    id: toCompletionId(answer.id),
    object: 'chat.completion',
    created: answer.created,
    model: answer.model.id,
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
