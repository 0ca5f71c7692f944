import type { ChatMessage, ToolCall } from '#libs/contracts/generation-request.ts'
import { pairResults } from './pair-results.ts'
import type { TemplateShape } from './template-shape.ts'

/**
 * Thrown for messages that the template cannot print. The error's message names them and may be shown to the caller.
 */
export class UnprintableError extends Error {
  constructor(what: string) {
    super(`the model's chat template cannot print ${what}`)
    this.name = 'UnprintableError'
  }
}

/**
 * A message that the template prints unchanged. A tool result has the name of its call, if the conversation contains
 * the call.
 */
export type FittedMessage = ChatMessage & { readonly callName?: string }

type Assistant = Extract<ChatMessage, { role: 'assistant' }>
type Result = Extract<ChatMessage, { role: 'tool' }>

/**
 * Changes the messages of a conversation so that a template of this shape prints every text, name, argument and result
 * once. The order stays, except in these cases:
 * - The results of a message's calls directly follow the message, in the order of its calls (`pairResults`).
 * - If the calls of a message are split into several messages, each of these is followed by its own result.
 *
 * Throws an UnprintableError if the template cannot print one of the messages.
 */
export function fitMessages(messages: readonly ChatMessage[], shape: TemplateShape): FittedMessage[] {
  const folded = joinTextWithCall(foldSystems(pairResults(messages), shape), shape)
  return joinNeighbours(splitCalls(folded, shape), shape)
}

const user = (content: string): ChatMessage => ({ role: 'user', content })
const assistant = (content: string): Assistant => ({
  role: 'assistant',
  content,
  reasoning: '',
  toolCalls: [],
})

const join = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n')

/**
 * A message. `isFolded` marks a user message that was made from system messages alone. A user message that follows it
 * directly is appended to it.
 */
type Folded = ChatMessage & { readonly isFolded?: true }

/**
 * Puts system messages where the template prints them.
 *
 * `foldLeading` handles the system messages at the start. For later system messages, `shape.laterSystem` decides:
 * - `kept`: they stay where they are.
 * - `folded`: they become a user message at the same place. If a user message follows directly, both become one.
 * - null: throws an UnprintableError.
 */
function foldSystems(messages: readonly ChatMessage[], shape: TemplateShape): Folded[] {
  const firstOther = messages.findIndex(({ role }) => role !== 'system')
  const leading = messages.slice(0, firstOther === -1 ? messages.length : firstOther)
  const out: Folded[] = foldLeading(leading, messages, shape)
  let waiting: string[] = []
  for (const message of messages.slice(leading.length)) {
    if (message.role === 'system') {
      if (shape.laterSystem === null) throw new UnprintableError('a system message behind other messages')
      if (shape.laterSystem === 'kept') out.push(message)
      else waiting.push(message.content)
      continue
    }
    if (waiting.length > 0) {
      out.push({ role: 'user', content: join(...waiting), isFolded: true })
      waiting = []
    }
    const last = out.at(-1)
    if (message.role === 'user' && last?.role === 'user' && last.isFolded === true) {
      out[out.length - 1] = user(join(last.content, message.content))
    } else out.push(message)
  }
  if (waiting.length > 0) out.push(user(join(...waiting)))
  return out
}

function foldLeading(
  leading: readonly ChatMessage[],
  messages: readonly ChatMessage[],
  { leadingSystems, noUser }: TemplateShape,
): Folded[] {
  if (leading.length === 0) return []
  const all = join(...leading.map(({ content }) => content))
  if (!messages.some(({ role }) => role === 'user')) {
    if (noUser === null) throw new UnprintableError('a conversation without a user message')
    if (noUser === 'folded') return [{ role: 'user', content: all, isFolded: true }]
  }
  switch (leadingSystems) {
    case null:
      throw new UnprintableError('a system message')
    case 'kept':
      return [...leading]
    case 'joined':
      return [{ role: 'system', content: all }]
    case 'folded':
      return [{ role: 'user', content: all, isFolded: true }]
  }
}

/**
 * Joins two assistant messages in a row if only the second one has tool calls. Does nothing if the template prints two
 * assistant messages in a row.
 */
function joinTextWithCall(
  messages: readonly ChatMessage[],
  { assistantsInARow }: TemplateShape,
): ChatMessage[] {
  if (assistantsInARow === 'kept') return [...messages]
  const out: ChatMessage[] = []
  for (const message of messages) {
    const last = out.at(-1)
    const isTurn = last?.role === 'assistant' && last.toolCalls.length === 0 && message.role === 'assistant'
    if (!isTurn || message.toolCalls.length === 0) out.push(message)
    else out[out.length - 1] = joinPair(last, message)
  }
  return out
}

/** Returns messages with calls as the template prints them, each followed by its results. */
function splitCalls(messages: readonly ChatMessage[], shape: TemplateShape): FittedMessage[] {
  const out: FittedMessage[] = []
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at]
    if (message === undefined) break
    if (message.role === 'tool') {
      out.push(toOrphan(message, shape))
      continue
    }
    if (message.role !== 'assistant' || message.toolCalls.length === 0) {
      out.push(message)
      continue
    }
    if (shape.calls === null) throw new UnprintableError('tool calls')
    const results: Result[] = []
    for (let next = messages[at + 1]; next?.role === 'tool'; next = messages[at + 1]) {
      results.push(next)
      at += 1
    }
    out.push(...splitTurn(message, results, shape))
  }
  return out
}

function toOrphan(result: Result, { orphanResult }: TemplateShape): ChatMessage {
  switch (orphanResult) {
    case null:
      throw new UnprintableError('a tool result without its call')
    case 'kept':
      return result
    case 'folded':
      return user(result.content)
  }
}

/** Returns one assistant message with calls as the template prints it, and the results after it. */
function splitTurn(turn: Assistant, results: readonly Result[], shape: TemplateShape): FittedMessage[] {
  const { before, message } = splitText(turn, shape)
  const calls = message.toolCalls
  const isSplit = calls.length > 1 && shape.severalCalls === 'split'
  if (calls.length > 1 && shape.severalCalls === null)
    throw new UnprintableError('several calls in a message')
  const { own, orphans } = pair(calls, results)
  const rest = orphans.map((result) => toOrphan(result, shape))
  if (!isSplit) return [...before, message, ...own.flatMap((answered) => answer(answered, shape)), ...rest]
  const messages = own.flatMap((answered, place): FittedMessage[] => [
    { ...(place === 0 ? message : assistant('')), toolCalls: [answered.call] },
    ...answer(answered, shape),
  ])
  return [...before, ...messages, ...rest]
}

/** Leaves the text beside calls in the message of the calls, or puts it into a message of its own before them. */
function splitText(
  turn: Assistant,
  shape: TemplateShape,
): { readonly before: ChatMessage[]; readonly message: Assistant } {
  if (turn.content === '' || shape.calls?.form === 'written') return { before: [], message: turn }
  if (turn.reasoning !== '' && shape.reasoningBesideText === 'joined') {
    return { before: [], message: { ...turn, reasoning: join(turn.reasoning, turn.content), content: '' } }
  }
  const text = assistant(turn.content)
  const message = { ...turn, content: '' }
  switch (shape.textBesideCall) {
    case null:
      throw new UnprintableError('text beside a tool call')
    case 'kept':
      return { before: [], message: turn }
    case 'split':
      return { before: [text], message }
    case 'bridged':
      return { before: [text, user('')], message }
  }
}

type Pair = { readonly call: ToolCall; readonly result: Result | null }

/** Pairs each call with its result. `orphans` are the results that belong to no call. */
function pair(
  calls: readonly ToolCall[],
  results: readonly Result[],
): { readonly own: Pair[]; readonly orphans: readonly Result[] } {
  let taken = 0
  const own = calls.map((call): Pair => {
    const result = results[taken]
    if (result?.toolCallId !== call.id) return { call, result: null }
    taken += 1
    return { call, result }
  })
  return { own, orphans: results.slice(taken) }
}

function answer({ call, result }: Pair, shape: TemplateShape): FittedMessage[] {
  if (result !== null) return [{ ...result, callName: call.name }]
  if (shape.unanswered !== 'answered') return []
  return [{ role: 'tool', toolCallId: call.id, content: '', callName: call.name }]
}

/** Joins or bridges neighbours that the template does not print one after the other. */
function joinNeighbours(messages: readonly FittedMessage[], shape: TemplateShape): FittedMessage[] {
  const out: FittedMessage[] = []
  for (const message of messages) {
    const last = out.at(-1)
    switch (betweenOf(last, message, shape)) {
      case 'kept':
        out.push(message)
        break
      case 'joined':
        if (last !== undefined) out[out.length - 1] = joinPair(last, message)
        break
      case 'user':
        out.push(user(''), message)
        break
      case 'assistant':
        out.push(assistant(''), message)
        break
    }
  }
  return out
}

function joinPair<M extends FittedMessage>(last: M, message: FittedMessage): M {
  const joined = { ...last, content: join(last.content, message.content) }
  if (joined.role !== 'assistant' || message.role !== 'assistant') return joined
  return { ...joined, reasoning: join(joined.reasoning, message.reasoning), toolCalls: message.toolCalls }
}

/**
 * Returns how two messages in a row are printed: unchanged (`kept`), `joined`, or with an empty message of the returned
 * role between them. `last` is the first of the two; it is undefined at the beginning of the conversation.
 */
function betweenOf(
  last: FittedMessage | undefined,
  message: FittedMessage,
  shape: TemplateShape,
): 'kept' | 'joined' | 'user' | 'assistant' {
  if (message.role === 'assistant' && (last === undefined || last.role === 'system')) {
    return bridge(shape.assistantFirst, 'user', 'an assistant message before any user message')
  }
  if (message.role === 'user' && last?.role === 'user') {
    return bridge(shape.usersInARow, 'assistant', 'user messages in a row')
  }
  if (message.role === 'user' && last?.role === 'tool') {
    return bridge(shape.userBehindResult, 'assistant', 'a user message behind a tool result')
  }
  if (message.role !== 'tool' && last?.role === 'assistant' && last.toolCalls.length > 0) {
    return bridge(shape.unanswered, 'assistant', 'a tool call without its result')
  }
  if (message.role === 'assistant' && last?.role === 'assistant' && message.toolCalls.length === 0) {
    return bridge(shape.assistantsInARow, 'user', 'assistant messages in a row')
  }
  return 'kept'
}

function bridge(
  remedy: 'kept' | 'joined' | 'bridged' | 'answered' | null,
  by: 'user' | 'assistant',
  what: string,
): 'kept' | 'joined' | 'user' | 'assistant' {
  if (remedy === null) throw new UnprintableError(what)
  if (remedy === 'bridged') return by
  return remedy === 'joined' ? 'joined' : 'kept'
}
