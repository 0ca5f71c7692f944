import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import type { CatalogModel } from '../../catalog.ts'
import { toChoices } from '../fields/choices.ts'
import { DIFFER } from '../fields/field-texts.ts'
import { toEfforts } from '../fields/reasoning-switches.ts'
import { toRequest } from '../fields/to-request.ts'
import type { ChatBody, ChatBodyMessage } from './chat-body.ts'

/** Translates a body. Throws the errors of `toRequest`, and an `ApiError` for `top_logprobs` without `logprobs`. */
export function toGeneration(body: ChatBody, model: CatalogModel): ReturnType<typeof toRequest> {
  return toRequest(body, {
    model,
    tools: body,
    efforts: toEfforts(body),
    toMessages: () => body.messages.map(toMessage),
    topLogprobs: toTopLogprobs(body),
    stream: body.stream,
    ...toChoices(body),
  })
}

/** Undefined if no log probabilities are requested. Without `logprobs`, a `top_logprobs` of 0 has no effect. */
function toTopLogprobs({ logprobs = false, top_logprobs: most = 0 }: ChatBody): number | undefined {
  if (logprobs) return most
  if (most === 0) return undefined
  throw new ApiError('invalid_request', "'top_logprobs': expected 'logprobs' to be true.", {
    param: 'top_logprobs',
  })
}

function toMessage(message: ChatBodyMessage, index: number): ChatMessage {
  const { role } = message
  if (role === 'assistant') return toAssistant(message, `messages[${index}]`)
  const { content } = message
  if (role === 'tool') return { role, content, toolCallId: message.tool_call_id ?? '' }
  return { role: role === 'user' ? 'user' : 'system', content }
}

function toAssistant(
  message: Extract<ChatBodyMessage, { role: 'assistant' }>,
  path: string,
): Extract<ChatMessage, { role: 'assistant' }> {
  const { content, refusal = '' } = message
  return {
    role: 'assistant',
    content: (content?.text ?? '') + refusal,
    reasoning: mergeReasoning(path, {
      reasoning_content: message.reasoning_content,
      reasoning: message.reasoning,
      content: content?.reasoning,
    }),
    toolCalls: message.tool_calls ?? [],
  }
}

/**
 * Returns the reasoning of a message. `given` has the text of each field that may contain the reasoning, by the field's
 * name. Throws an `ApiError` if two fields have different reasoning.
 */
function mergeReasoning(path: string, given: Readonly<Record<string, string | undefined>>): string {
  const named = Object.entries(given).filter(([, text]) => text !== undefined && text !== '')
  const [first] = named
  const other = named.find(([, text]) => text !== first?.[1])
  if (first !== undefined && other !== undefined) {
    const [param, also] = [`${path}.${first[0]}`, `${path}.${other[0]}`]
    throw new ApiError('invalid_request', `'${param}' and the reasoning in '${also}' ${DIFFER}.`, { param })
  }
  return first?.[1] ?? ''
}
