import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { joinTexts, type Block } from './content-blocks.ts'
import type { Message, MessagesBody } from './messages-body.ts'

/**
 * Translates the system prompt and the messages. Consecutive messages of one role are one turn, as in Anthropic's
 * interface. A user's turn may have tool results at any place. The results become messages of their own before the
 * turn's text, because templates expect results directly after the calls. Throws an `ApiError` `invalid_request` if the
 * conversation has no turn.
 *
 * Clients send system messages behind the user's text, such as Claude Code with its list of agents. Models expect such
 * text at the beginning, and would take it for the last words of the user. So it goes in front of the user's text; if it
 * follows results alone, it becomes a paragraph of the last result. A later request has the message at the same place,
 * so its prompt begins with the same tokens.
 */
export function toConversation({
  system,
  messages,
}: Pick<MessagesBody, 'system' | 'messages'>): ChatMessage[] {
  const prompt = system === undefined ? '' : joinTexts(system.flatMap(withoutBillingHeader))
  const turns = placeSystems(toTurns(messages).flatMap(toMessages))
  if (turns.length === 0) {
    throw new ApiError('invalid_request', `'messages': expected at least one message with content.`, {
      param: 'messages',
    })
  }
  return prompt === '' ? turns : [{ role: 'system', content: prompt }, ...turns]
}

/**
 * Removes the first line of a block of the system prompt if it is Claude Code's billing header. A block without a
 * second line is removed as a whole. The header changes with every request, so no engine could find the rest of the
 * prompt in its cache.
 */
function withoutBillingHeader(block: Block): readonly Block[] {
  if (block.type !== 'text' || !block.text.startsWith(BILLING_HEADER)) return [block]
  const end = block.text.indexOf('\n')
  return end < 0 ? [] : [{ type: 'text', text: block.text.slice(end + 1) }]
}

const BILLING_HEADER = 'x-anthropic-billing-header:'

type Turn = { readonly role: Message['role']; readonly blocks: Block[] }

function toTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  for (const { role, content } of messages) {
    const last = turns.at(-1)
    if (last?.role !== role) turns.push({ role, blocks: [...content] })
    else for (const block of content) last.blocks.push(block)
  }
  return turns
}

function toMessages({ role, blocks }: Turn): ChatMessage[] {
  if (role === 'assistant') return toAssistant(blocks)
  const text = joinTexts(blocks)
  if (role === 'system') return text === '' ? [] : [{ role, content: text }]
  const results = blocks.flatMap((block): ChatMessage[] =>
    block.type === 'result' ? [{ role: 'tool', content: block.text, toolCallId: block.toolCallId }] : [],
  )
  const isAnswered = results.length > 0 && text === ''
  return isAnswered ? results : [...results, { role: 'user', content: text }]
}

function placeSystems(messages: readonly ChatMessage[]): ChatMessage[] {
  const out: ChatMessage[] = []
  for (const message of messages) {
    const last = out.at(-1)
    if (message.role === 'system' && last?.role === 'user') out.splice(-1, 0, message)
    else if (message.role === 'system' && last?.role === 'tool') {
      out[out.length - 1] = { ...last, content: [last.content, message.content].filter(Boolean).join('\n\n') }
    } else out.push(message)
  }
  return out
}

/** The model wrote its text without separators between the blocks, so it is joined without them. */
function toAssistant(blocks: readonly Block[]): ChatMessage[] {
  const spoken = blocks.filter(({ type }) => type !== 'ignored')
  if (spoken.length === 0) return []
  return [
    {
      role: 'assistant',
      content: textsOf(blocks, 'text').join(''),
      reasoning: textsOf(blocks, 'reasoning').join('\n'),
      toolCalls: blocks.flatMap((block) => (block.type === 'call' ? [block.call] : [])),
    },
  ]
}

function textsOf(blocks: readonly Block[], type: 'text' | 'reasoning'): string[] {
  return blocks.flatMap((block) => (block.type === type && block.text !== '' ? [block.text] : []))
}
