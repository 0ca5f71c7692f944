import { runPoisson } from '../harness/offer-load.ts'
import type { Bar } from '../harness/bars.ts'
import { quantile } from '../harness/spread.ts'
import { streamChat } from '../harness/stream-chat.ts'
import { writeText } from './conversations.ts'
import type { Load } from './load.ts'
import { startSide, type SideName } from './start-side.ts'

const SLOTS = [4, 16] as const
/** The part of all slots that is busy on average. */
const BUSY = 0.3
const [PROMPT_TOKENS, ANSWER_TOKENS, STEP_MS] = [60, 100, 10]
const SECONDS = 40

/**
 * Measures which part of the requests each of two engines of different sizes gets at light load. No request continues a
 * conversation.
 */
export async function measureSizes(_load: Load): Promise<Bar[]> {
  console.log(`engines of ${SLOTS.join(' and ')} slots, ${100 * BUSY} % of which are busy`)
  const run = async (name: SideName) => await measureSide(name)
  const [random, warm] = [await run('random'), await run('warm')]
  return [
    { title: 'light load: busy part of small ÷ large engine', unit: '', bar: 1.5, values: [warm.ratio] },
    {
      title: 'light load: first token p99, warm ÷ random',
      unit: '',
      bar: 1.1,
      values: [warm.lateMs / random.lateMs],
    },
  ]
}

async function measureSide(name: SideName) {
  const slots = SLOTS.reduce((sum, count) => sum + count, 0)
  const side = await startSide(name, {
    workers: SLOTS.length,
    engine: { stepMs: STEP_MS, sequenceMs: 0, behaviour: { type: 'writes', tokens: ANSWER_TOKENS } },
    slotsOf: (worker) => SLOTS[worker] ?? 1,
  })
  try {
    const { cluster, modelOf } = side
    const { apiKey } = await cluster.createAccount('100000')
    const firsts: number[] = []
    const load = await runPoisson({
      ratePerS: (BUSY * slots) / ((ANSWER_TOKENS * STEP_MS) / 1_000),
      seconds: SECONDS,
      async call() {
        const messages = [{ role: 'user', content: writeText(PROMPT_TOKENS) }]
        const body = { model: modelOf(0), messages, max_tokens: ANSWER_TOKENS }
        firsts.push((await streamChat({ baseUrl: cluster.baseUrl, apiKey, body })).firstTextMs)
        return true
      },
    })
    const served = await Promise.all(
      cluster.workers.map(
        async (worker) =>
          await cluster.metric(worker, 'millrace_worker_generations_total', { result: 'ran' }),
      ),
    )
    const sorted = firsts.toSorted((a, b) => a - b)
    const [small = 0, large = 0] = served.map((count, worker) => count / (SLOTS[worker] ?? 1))
    const lateMs = quantile(sorted, 0.99)
    console.log(
      `  ${name.padEnd(8)}${load.latenciesMs.length} requests, by engine ${served.join(' and ')}; ` +
        `busy part of small ÷ large ${(small / large).toFixed(2)}; ` +
        `first token p50 ${quantile(sorted, 0.5).toFixed(0)} ms, p99 ${lateMs.toFixed(0)} ms`,
    )
    return { ratio: small / large, lateMs }
  } finally {
    await side.cluster.stop()
  }
}
