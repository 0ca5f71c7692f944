import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { FinishedChoice, FinishedGeneration } from '../../generation/output/collect.ts'
import type { Answer } from '../generation-endpoint.ts'
import { toChatLogprobs } from './chat-logprobs.ts'
import type { ChatFinishReason, ChatObject } from './chat-object.ts'
import { toChatUsage } from './chat-usage.ts'
import type { ChatOptions } from './to-chunks.ts'

/** Returns the body of a chat completion that is not streamed. */
export function toObject(
  generation: FinishedGeneration,
  answer: Answer<Pick<ChatOptions, 'logprobs'>>,
): ChatObject {
  const { otherChoices = [], usage } = generation
  return {
    id: toCompletionId(answer.id),
    object: 'chat.completion',
    created: answer.created,
    model: answer.model.id,
    choices: [generation, ...otherChoices].map((choice, index) => toChoice(choice, index, answer.options)),
    usage: toChatUsage(usage),
  }
}

function toChoice(
  { text, reasoning, toolCalls, logprobs = [], finishReason }: FinishedChoice,
  index: number,
  options: Pick<ChatOptions, 'logprobs'>,
): ChatObject['choices'][number] {
  return {
    index,
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
    ...(options.logprobs && { logprobs: toChatLogprobs(logprobs) }),
    finish_reason: toFinishReason(finishReason),
  }
}

/** Returns the completion's id, which is the same on the whole object and on every chunk. */
export function toCompletionId(requestId: string): string {
  return `chatcmpl-${requestId}`
}

/** Returns the chat interface's name of a finish reason. */
export function toFinishReason(reason: GenerationEnd['finishReason']): ChatFinishReason {
  return reason === 'tool-calls' ? 'tool_calls' : reason
}
