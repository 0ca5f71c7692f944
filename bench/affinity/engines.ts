import { startEngineCluster } from '#test/support/engine-cluster.ts'
import type { Bar } from '../harness/bars.ts'
import { quantile } from '../harness/spread.ts'
import { sendTurn, writeText, type Conversation, type Turn } from './conversations.ts'

const MODEL = 'bench'
const CONVERSATIONS = 10
const TURNS = 4
/** The number of turns that are under way at once. */
const CONCURRENCY = 4

type Options = {
  /** HOST:PORT of the gRPC service of each engine. */
  readonly engines: readonly string[]
  readonly family: string
  readonly rounds: number
  /** About the number of tokens of a turn. */
  readonly tokens: number
  /** The number of tokens in a block of the engines' KV cache (`--block-size`). */
  readonly blockTokens: number
}

type Side = 'on' | 'off'
type Figures = { readonly share: number; readonly laterMs: number }

/**
 * Compares conversations with and without homes on real engines, which run already and have one model. Each side of a
 * round has a cluster and an account of its own, so it finds nothing in the caches that another side has sent.
 */
export async function measureEngines(options: Options): Promise<Bar[]> {
  const measured: Record<Side, Figures[]> = { on: [], off: [] }
  console.log(
    `${options.engines.length} engines, ${CONVERSATIONS} conversations of ${TURNS} turns of about ${options.tokens} tokens, ` +
      `${CONCURRENCY} turns at once`,
  )
  for (let round = 0; round < options.rounds; round += 1) {
    const sides: Side[] = round % 2 === 0 ? ['on', 'off'] : ['off', 'on']
    for (const side of sides) measured[side].push(await measureSide(side, options))
  }
  const shares = measured.on.map(({ share }) => share)
  const sooner = measured.on.map(
    ({ laterMs }, round) => laterMs / (measured.off[round]?.laterMs ?? Number.NaN),
  )
  return [
    { title: 'cached ÷ cacheable tokens, warm', unit: '', bar: 0.9, isFloor: true, values: shares },
    { title: 'later first token p50, warm ÷ random', unit: '', bar: 1, values: sooner },
  ]
}

async function measureSide(side: Side, { engines, family, tokens, blockTokens }: Options): Promise<Figures> {
  const cluster = await startEngineCluster({
    engines,
    models: [{ id: MODEL, family }],
    gatewayEnv: { PREFIX_AFFINITY: side },
  })
  try {
    const { apiKey } = await cluster.createAccount('100000')
    const conversations = Array.from({ length: CONVERSATIONS }, (): Conversation => ({
      apiKey,
      model: MODEL,
      messages: [],
    }))
    const turns = await converse(conversations, cluster.baseUrl, tokens)
    const later = turns.filter(({ number }) => number > 1)
    const cacheable = later.reduce((sum, turn) => sum + toCacheable(turn, blockTokens), 0)
    // A block may also hold a part of the answer, which counts as cacheable for neither side.
    const cached = later.reduce(
      (sum, turn) => sum + Math.min(turn.cachedTokens, toCacheable(turn, blockTokens)),
      0,
    )
    const prompts = later.reduce((sum, { promptTokens }) => sum + promptTokens, 0)
    const firstsMs = later.map(({ firstTextMs }) => firstTextMs).toSorted((a, b) => a - b)
    const laterMs = quantile(firstsMs, 0.5)
    console.log(
      `  homes ${side.padEnd(3)}  of ${prompts} tokens of later prompts ${cacheable} were sent before in whole blocks; ` +
        `${cached} of these were cached (${((100 * cached) / cacheable).toFixed(0)} %); ` +
        `first token p50 ${laterMs.toFixed(0)} ms, p90 ${quantile(firstsMs, 0.9).toFixed(0)} ms`,
    )
    return { share: cached / cacheable, laterMs }
  } finally {
    await cluster.stop()
  }
}

type MeasuredTurn = Turn & { readonly earlierTokens: number }

const toCacheable = ({ earlierTokens }: MeasuredTurn, blockTokens: number) =>
  Math.floor(earlierTokens / blockTokens) * blockTokens

/** Runs all turns. The next turn of a conversation begins after turns of the other conversations. */
async function converse(
  conversations: readonly Conversation[],
  baseUrl: string,
  tokens: number,
): Promise<MeasuredTurn[]> {
  const waiting = conversations.map((conversation) => ({ conversation, earlierTokens: 0 }))
  const turns: MeasuredTurn[] = []
  const runTurns = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { conversation, earlierTokens } = next
      const turn = await sendTurn(conversation, baseUrl, {
        text: writeText(tokens),
        mostTokens: ANSWER_TOKENS,
      })
      turns.push({ ...turn, earlierTokens })
      if (turn.number < TURNS) waiting.push({ conversation, earlierTokens: turn.promptTokens })
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, runTurns))
  return turns
}

const ANSWER_TOKENS = 16
