import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../support/random.ts'

export type Caller = () => Promise<void>

/** One way in which a request may end: what is sent, and after how many events or milliseconds its caller hangs up. */
type Plan = {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Null: the caller reads the whole answer. */
  readonly hangUp: { readonly afterEvents: number } | { readonly afterMs: number } | null
}

/**
 * Creates callers whose requests end in random ways: with a hang-up at any event or moment, at a dead end of a grammar,
 * at a stop string, at the deadline, with several answers, with an echoed prompt, or with embeddings. The same seed gives
 * the same requests. `end` resolves when the request is over, whatever its answer.
 */
export function createCallers(options: {
  baseUrl: string
  apiKey: string
  models: { readonly chat: string; readonly embedding: string }
  seed: number
}): { end(number: number): Promise<void> } {
  const { baseUrl, apiKey, models, seed } = options
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }

  return {
    async end(number) {
      const { path, body, hangUp } = toPlan(createRandom(seed + number), number, models)
      const leaving = new AbortController()
      if (hangUp !== null && 'afterMs' in hangUp) void sleep(hangUp.afterMs).then(() => leaving.abort())
      try {
        const { signal } = leaving
        const response = await fetch(`${baseUrl}/${path}`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
          signal,
        })
        let events = 0
        for await (const bytes of response.body ?? []) {
          events += Buffer.from(bytes).toString().split('data: ').length - 1
          if (hangUp !== null && 'afterEvents' in hangUp && events >= hangUp.afterEvents) leaving.abort()
        }
      } catch (error) {
        if (!leaving.signal.aborted) throw error
      }
    },
  }
}

type Random = () => number

function toPlan(random: Random, number: number, models: { chat: string; embedding: string }): Plan {
  const below = (count: number) => Math.floor(random() * count)
  const words = (count: number) => Array.from({ length: count }, () => WORDS[below(WORDS.length)]).join(' ')
  // No two prompts begin alike, so an engine computes each of them.
  const prompt = `${number} ${words(2 + below(random() < 0.2 ? 2_500 : 200))}`
  const messages = [{ role: 'user', content: prompt }]
  const chat = { model: models.chat, messages, stream: random() < 0.7, max_tokens: 1 + below(150) }
  const atAnyTime = () =>
    random() < 0.5 ? { afterEvents: 1 + below(30) } : { afterMs: below(random() < 0.5 ? 60 : 400) }
  const hangUp = random() < 0.6 ? atAnyTime() : null
  const plan = (fields: object): Plan => ({ path: 'chat/completions', body: { ...chat, ...fields }, hangUp })
  switch (below(8)) {
    case 0: {
      if (random() < 0.4) {
        // The grammar has no first token.
        const long = [{ role: 'user', content: `${number} ${words(400)}` }]
        return { ...plan({ messages: long, structured_outputs: { regex: DEAD } }), hangUp: null }
      }
      return plan({ structured_outputs: { regex: `[a-z]{${below(100)}}${DEAD}` }, max_tokens: 300 })
    }
    case 1:
      return plan({
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'dead', schema: toDeadSchema(below(90)) },
        },
        max_tokens: 300,
      })
    case 2:
      return plan({ stop: [WORDS[below(WORDS.length)], 'said'], ignore_eos: random() < 0.3 })
    case 3:
      return plan({ n: 2 + below(3) })
    case 4: {
      const echo = { echo: true, logprobs: below(3), max_tokens: below(3) }
      return { path: 'completions', body: { model: models.chat, prompt, ...echo }, hangUp }
    }
    case 5: {
      const input = Array.from({ length: 1 + below(60) }, () => `${number} ${words(1 + below(120))}`)
      const body = { model: models.embedding, input }
      return { path: 'embeddings', body, hangUp: random() < 0.8 ? { afterMs: below(500) } : null }
    }
    case 6:
      // It reaches the deadline of the gateway.
      return plan({
        messages: [{ role: 'user', content: `${number} [[tokens=${2_000 + below(2_000)}]]` }],
        max_tokens: 4_000,
      })
    default:
      return plan({})
  }
}

/** A pattern at which a generation has no token. The gateway cannot know that: it is a class of halves of characters. */
const DEAD = String.raw`[\ud800-\udfff]`

const toDeadSchema = (length: number) => ({
  type: 'object',
  properties: {
    text: { type: 'string', minLength: length },
    dead: { type: 'string', pattern: `^${DEAD}$` },
  },
  required: ['text', 'dead'],
  additionalProperties: false,
})

const WORDS =
  'grain water stone wheel river mill flour sack cart race summer winter morning the and of'.split(' ')
