import { z } from 'zod'
import { streamChat } from '../harness/stream-chat.ts'

type Message = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }

/** One caller's conversation, whose whole history is sent with each turn. */
export type Conversation = {
  readonly apiKey: string
  readonly model: string
  readonly messages: Message[]
}

export type Turn = {
  readonly number: number
  readonly firstTextMs: number
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** The number of tokens that the demo model's tokenizer makes of each of these words. */
const TOKENS_PER_WORD = 3
const WORDS = ['river', 'stone', 'wheel', 'grain', 'flour', 'water', 'miller', 'bridge', 'market', 'winter']

/** Returns words that no other text shares. */
export function writeText(tokens: number): string {
  const word = () => WORDS[Math.floor(Math.random() * WORDS.length)]
  return Array.from({ length: Math.ceil(tokens / TOKENS_PER_WORD) }, word).join(' ')
}

const UsageEvent = z.object({
  usage: z.object({
    prompt_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
  }),
})

/**
 * Sends the next turn with this text, and adds the text and the answer to the conversation. The answer has at most
 * `mostTokens` tokens.
 */
export async function sendTurn(
  conversation: Conversation,
  baseUrl: string,
  { text, mostTokens = 64 }: { text: string; mostTokens?: number },
): Promise<Turn> {
  const { apiKey, model, messages } = conversation
  messages.push({ role: 'user', content: text })
  const answer = await streamChat({ baseUrl, apiKey, body: { model, messages, max_tokens: mostTokens } })
  messages.push({ role: 'assistant', content: answer.text })
  const { prompt_tokens: promptTokens, prompt_tokens_details: details } = readUsage(answer.body)
  const number = messages.filter(({ role }) => role === 'user').length
  return { number, firstTextMs: answer.firstTextMs, promptTokens, cachedTokens: details.cached_tokens }
}

function readUsage(body: string): z.infer<typeof UsageEvent>['usage'] {
  const event = body.split('\n\n').find((each) => each.includes('"usage":{'))
  if (event === undefined) throw new Error('the stream has no usage')
  return UsageEvent.parse(JSON.parse(event.slice('data: '.length))).usage
}

/** Runs all conversations at once, each turn as soon as the turn before it has its answer. */
export async function converse(options: {
  conversations: readonly Conversation[]
  baseUrl: string
  turns: number
  /** The tokens of a conversation's first text, and of each later one. */
  firstTokens: number
  laterTokens: number
  onTurn?: (conversation: Conversation, turn: Turn) => void
  /** If it returns true, no conversation begins another turn. */
  isOver?: () => boolean
}): Promise<{ readonly turns: readonly Turn[]; readonly tookMs: number }> {
  const { conversations, baseUrl, firstTokens, laterTokens, onTurn, isOver = () => false } = options
  const startMs = performance.now()
  const turns: Turn[] = []
  await Promise.all(
    conversations.map(async (conversation) => {
      await pauseMs(Math.random() * START_SPREAD_MS)
      for (let number = 1; number <= options.turns && !isOver(); number += 1) {
        const tokens = number === 1 ? firstTokens : laterTokens
        const turn = await sendTurn(conversation, baseUrl, { text: writeText(tokens) })
        turns.push(turn)
        onTurn?.(conversation, turn)
      }
    }),
  )
  return { turns, tookMs: performance.now() - startMs }
}

const START_SPREAD_MS = 1_000

export async function pauseMs(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, ms)
  await promise
}
