import type { ChatMessage, ToolCall } from '#libs/contracts/generation-request.ts'
import type { Random } from '#test/chaos/random.ts'

/** A conversation that a caller may send, and the words that its prompt must contain. */
export type RandomConversation = {
  readonly messages: readonly ChatMessage[]
  /** Words in the order of the messages, results in the order of their calls. Each word occurs only once. */
  readonly words: readonly string[]
  /** Words of the instructions before all other messages. */
  readonly leading: readonly string[]
  /** The same words as `words`, in an order in which each result follows its call. */
  readonly pairedWords: readonly string[]
  /** Names of calls. A prompt may repeat a name beside the result. */
  readonly names: readonly string[]
}

/**
 * Draws a conversation of up to six turns. Each turn begins with a user message. The conversation may contain:
 * - instructions at the beginning or later, or nothing but instructions
 * - two user messages in a row
 * - an assistant's message before the first user message
 * - answers with text, reasoning, calls, or text and calls
 * - calls with cut arguments, results without a call, second results of a call, and calls without a result
 * - results in another order than their calls, before their calls, and with other messages between them
 * - calls and their results without ids, or with the same id
 */
export function drawConversation({ int }: Random): RandomConversation {
  const draw = (limit: number) => int(0, limit - 1)
  const book = createBook()
  const messages: ChatMessage[] = []
  const words: string[] = []
  const pairedWords: string[] = []
  const leading: string[] = []
  const names: string[] = []
  const say = (): string => {
    const word = book.word()
    words.push(word)
    pairedWords.push(word)
    return draw(6) === 0 ? `${word}\n${say()}` : word
  }
  for (let systems = [0, 0, 1, 1, 2, 3][draw(6)] ?? 0; systems > 0; systems -= 1) {
    const word = book.word()
    leading.push(word)
    messages.push({ role: 'system', content: word })
  }
  if (leading.length > 0 && draw(12) === 0) return { messages, words, leading, pairedWords, names }
  if (draw(8) === 0) messages.push({ role: 'assistant', content: say(), reasoning: '', toolCalls: [] })
  for (let turns = 1 + draw(6); turns > 0; turns -= 1) {
    for (let users = draw(5) === 0 ? 2 : 1; users > 0; users -= 1)
      messages.push({ role: 'user', content: say() })
    if (draw(6) === 0) messages.push({ role: 'system', content: say() })
    if (turns === 1 && draw(2) === 0) break
    if (draw(20) === 0) messages.push({ role: 'tool', toolCallId: book.id(), content: say() })
    for (let steps = draw(3); steps > 0; steps -= 1) drawToolStep()
    if (draw(5) > 0 || turns > 1) {
      const reasoning = draw(3) === 0 ? book.word() : ''
      messages.push({ role: 'assistant', content: say(), reasoning, toolCalls: [] })
    }
  }
  if (messages.length === 0) messages.push({ role: 'user', content: say() })
  return { messages, words, leading, pairedWords, names }

  function drawToolStep(): void {
    const content = draw(3) === 0 ? say() : ''
    const reasoning = draw(3) === 0 ? book.word() : ''
    const drawn = Array.from({ length: 1 + (draw(3) === 0 ? 1 + draw(2) : 0) }, () => drawCall(book, draw))
    const commonId = [null, null, null, null, '', book.id()][draw(6)] ?? null
    const calls = drawn.map((one) => ({ ...one, call: { ...one.call, id: commonId ?? one.call.id } }))
    names.push(...calls.map(({ call }) => call.name))
    const missing = draw(12) === 0 ? 1 : 0
    const answered = calls.slice(0, calls.length - missing)
    const results = answered.map(({ call }) => ({ id: call.id, word: book.word() }))
    words.push(...calls.flatMap((call) => call.words), ...results.map(({ word }) => word))
    pairedWords.push(
      ...calls.flatMap((call, i) => [...call.words, ...(results[i] === undefined ? [] : [results[i].word])]),
    )
    const toResult = ({ id, word }: (typeof results)[number]): ChatMessage => ({
      role: 'tool',
      toolCallId: id,
      content: word,
    })
    const sent = (commonId === null && draw(2) === 0 ? results.toReversed() : results).map(toResult)
    const early = commonId === null && draw(10) === 0 ? sent.splice(0, 1) : []
    messages.push(...early)
    messages.push({ role: 'assistant', content, reasoning, toolCalls: calls.map(({ call }) => call) })
    const between = draw(10) === 0 ? draw(sent.length + 1) : sent.length
    messages.push(...sent.slice(0, between))
    if (between < sent.length) messages.push({ role: draw(2) === 0 ? 'user' : 'system', content: say() })
    messages.push(...sent.slice(between))
    const [again] = results
    if (again !== undefined && commonId === null && early.length === 0 && draw(20) === 0)
      messages.push({ role: 'tool', toolCallId: again.id, content: say() })
  }
}

type Book = { readonly word: () => string; readonly id: () => string }

/** Creates words of letters and digits, none of which is part of another. */
function createBook(): Book {
  let count = 0
  const next = (): string => String((count += 1)).padStart(4, '0')
  return { word: () => `qz${next()}z`, id: () => `call0${next()}` }
}

/** Names of arguments that templates, Jinja or JavaScript themselves use. */
const KEYS = [
  'city',
  'items',
  'keys',
  'name',
  'type',
  'get',
  'constructor',
  'length',
  '7',
  'arguments',
] as const

function drawCall(
  book: Book,
  draw: (limit: number) => number,
): { readonly call: ToolCall; readonly words: readonly string[] } {
  const name = `${book.word()}_tool`
  const first = book.word()
  const second = book.word()
  const key = KEYS[draw(KEYS.length)] ?? 'city'
  const json = JSON.stringify
  const forms: readonly (readonly [string, readonly string[]])[] = [
    [json({ [key]: first }), [first]],
    [json({ [key]: first, zone: second }), [first, second]],
    [json({ inner: { [key]: [first, second, 7, null, true] } }), [first, second]],
    ['{}', []],
    ['', []],
    ['null', []],
    [`{"${key}": "${first}`, [first]],
    [json([first]), [first]],
    [json(first), [first]],
  ]
  const [text, words] = forms[draw(forms.length)] ?? ['', []]
  return { call: { id: book.id(), name, arguments: text }, words }
}
