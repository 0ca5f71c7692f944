import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { shorten } from '../../http/shorten.ts'
import { toFlatName, toFoundText, type SpacedName } from '../fields/tool-names.ts'
import type { InputItem } from './input-items.ts'
import { openReasoning, type ReasoningKeys } from './sealed-reasoning.ts'

type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>

/**
 * Translates items to chat messages. Items of the model that follow each other become messages of the assistant:
 * - A text begins a message. But if the message before it already has a call, the text is added to that message.
 * - A call is added to the message before it, or begins a message if there is none.
 * - Reasoning is added to the next text or call of the model. It is dropped if a result or a message of another author
 *   comes first.
 *
 * References to reasoning, and to text before a call, are ignored. Throws an `ApiError` `invalid_request` for every
 * other reference, because only a stored response could resolve it, and for encrypted reasoning that was changed or that
 * belongs to another account.
 *
 * `nameOf` returns the name under which the model sees a function of a name space.
 */
export function toMessages(
  items: readonly InputItem[],
  { nameOf = toFlatName, keys }: { nameOf?: NameOf; keys?: ReasoningKeys | undefined } = {},
): ChatMessage[] {
  const messages: ChatMessage[] = []
  let turn: AssistantMessage | null = null
  /** Reasoning that is not yet part of a message. */
  let reasoning = ''
  let reference: Reference | null = null

  function continueTurn(current: AssistantMessage | null): AssistantMessage {
    const message = current ?? { role: 'assistant', content: '', reasoning: '', toolCalls: [] }
    if (current === null) messages.push(message)
    message.reasoning = joinReasoning(message.reasoning, reasoning)
    reasoning = ''
    return message
  }

  for (const [index, item] of items.entries()) {
    if (item.type === 'ignored') {
      continue
    } else if (item.type === 'reasoning') {
      reasoning = joinReasoning(reasoning, toReasoning(item, { index, keys }))
    } else if (item.type === 'item_reference') {
      if (item.id.startsWith('rs_')) continue
      if (!item.id.startsWith('msg_')) refuseReference({ id: item.id, index })
      reference ??= { id: item.id, index }
    } else if (item.type === 'function_call' || item.type === 'answered_call') {
      reference = null
      turn = continueTurn(turn)
      if (item.type === 'function_call') {
        const { call_id: id, name, namespace, arguments: text } = item
        turn.toolCalls.push({
          id,
          name: namespace === undefined ? name : nameOf({ namespace, name }),
          arguments: text,
        })
        continue
      }
      const id = item.call_id === '' ? `call_${index}` : item.call_id
      turn.toolCalls.push({ id, name: item.name, arguments: item.arguments })
      turn = null
      messages.push({ role: 'tool', content: item.output, toolCallId: id })
    } else {
      if (reference !== null) refuseReference(reference)
      if (item.type === 'message' && item.role === 'assistant') {
        // If the turn has calls already, this message belongs to the same turn. Otherwise it begins another turn.
        turn = continueTurn(turn !== null && turn.toolCalls.length > 0 ? turn : null)
        turn.content += item.content
        turn.reasoning = joinReasoning(turn.reasoning, item.reasoning)
      } else {
        turn = null
        reasoning = ''
        messages.push(toInputMessage(item, nameOf))
      }
    }
  }
  if (reference !== null) refuseReference(reference)
  return messages
}

/**
 * A reference that only a stored response could resolve. Clients that rely on stored responses send references in place
 * of reasoning and of the text before a call, but they send the call itself. A reference to reasoning is ignored. A
 * reference to a text is ignored if a call follows. In both cases the conversation is usable without the missing
 * reasoning or text.
 */
type Reference = { readonly id: string; readonly index: number }

/**
 * Returns the text of a reasoning item. Reasoning that another service encrypted, or with a secret that is no longer
 * known, is ignored, because the conversation is usable without it.
 */
function toReasoning(
  { text, sealed }: Extract<InputItem, { type: 'reasoning' }>,
  { index, keys }: { readonly index: number; readonly keys: ReasoningKeys | undefined },
): string {
  if (sealed === undefined || keys === undefined) return text
  const opened = openReasoning(sealed, keys)
  if (opened.status === 'opened') return opened.text
  if (opened.status === 'foreign') return text
  const param = `input[${index}].encrypted_content`
  const problem = 'expected the text that this service returned to this account, unchanged'
  throw new ApiError('invalid_request', `'${param}': ${problem}.`, { param })
}

function joinReasoning(first: string, second: string): string {
  return first === '' || second === '' ? first + second : `${first}\n${second}`
}

type NameOf = (spaced: SpacedName) => string

type Input = Extract<InputItem, { type: 'message' | 'function_call_output' | 'tool_search_output' }>

function toInputMessage(item: Input, nameOf: NameOf): ChatMessage {
  switch (item.type) {
    case 'function_call_output':
      return { role: 'tool', content: item.output, toolCallId: item.call_id }
    case 'tool_search_output': {
      const found = item.tools.flatMap(({ definition, spaced }) => {
        if (definition === null) return []
        return toFoundText(spaced === undefined ? definition.name : nameOf(spaced))
      })
      return { role: 'tool', content: found.join('\n'), toolCallId: item.call_id }
    }
    case 'message':
      return { role: item.role === 'user' ? 'user' : 'system', content: item.content }
  }
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
