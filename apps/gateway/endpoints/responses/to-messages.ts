import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { shorten } from '../../http/shorten.ts'
import type { InputItem } from './input-items.ts'

type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>

/**
 * The conversation that items tell. What a model wrote in one turn comes as several items and becomes one
 * message: its thinking, its text and its calls up to their first result. Thinking waits for what it led to;
 * where nothing followed, it is not replayed. Throws an `ApiError` `invalid_request` for a reference that only
 * a stored response could resolve.
 */
export function toMessages(items: readonly InputItem[]): ChatMessage[] {
  const messages: ChatMessage[] = []
  let turn: AssistantMessage | null = null
  let thinking = ''
  let reference: Reference | null = null

  function goOn(current: AssistantMessage | null): AssistantMessage {
    const message = current ?? { role: 'assistant', content: '', reasoning: '', toolCalls: [] }
    if (current === null) messages.push(message)
    message.reasoning = joinThoughts(message.reasoning, thinking)
    thinking = ''
    return message
  }

  for (const [index, item] of items.entries()) {
    if (item.type === 'reasoning') {
      thinking = joinThoughts(thinking, item.text)
    } else if (item.type === 'item_reference') {
      if (item.id.startsWith('rs_')) continue
      if (!item.id.startsWith('msg_')) refuseReference({ id: item.id, index })
      reference ??= { id: item.id, index }
    } else if (item.type === 'function_call') {
      reference = null
      turn = goOn(turn)
      turn.toolCalls.push({ id: item.call_id, name: item.name, arguments: item.arguments })
    } else {
      if (reference !== null) refuseReference(reference)
      if (item.type === 'message' && item.role === 'assistant') {
        // Text goes on with a turn only after its calls: two messages beside each other are two turns.
        turn = goOn(turn !== null && turn.toolCalls.length > 0 ? turn : null)
        turn.content += item.content
      } else {
        turn = null
        thinking = ''
        messages.push(toHeardMessage(item))
      }
    }
  }
  if (reference !== null) refuseReference(reference)
  return messages
}

/**
 * A reference to something that only a stored response could resolve. Clients that rely on stored responses
 * refer to a model's thinking, and to the text before a call, but send the call itself: such a turn is whole
 * enough without them.
 */
type Reference = { readonly id: string; readonly index: number }

function joinThoughts(first: string, second: string): string {
  return first === '' || second === '' ? first + second : `${first}\n${second}`
}

function toHeardMessage(item: Extract<InputItem, { type: 'message' | 'function_call_output' }>): ChatMessage {
  if (item.type === 'function_call_output') {
    return { role: 'tool', content: item.output, toolCallId: item.call_id }
  }
  return { role: item.role === 'user' ? 'user' : 'system', content: item.content }
}

function refuseReference({ id, index }: Reference): never {
  const param = `input[${index}]`
  throw new ApiError(
    'invalid_request',
    `'${param}': this service keeps no state and cannot look up '${shorten(id)}': send the item itself ` +
      '(with the AI SDK: providerOptions.openai.store = false).',
    { param },
  )
}
