import type { Bar } from '../harness/bars.ts'
import { quantile } from '../harness/spread.ts'
import { converse, writeText } from './conversations.ts'
import { ANSWER_TOKENS, toEngine, type Load } from './load.ts'
import { readHomeWaits, startSide, type SideName } from './start-side.ts'

const [SYSTEM_TOKENS, TURN_TOKENS] = [900, 60]

/** Measures conversations that all begin with one system prompt: it must not bring them all to one worker. */
export async function measureSystem(load: Load): Promise<Bar[]> {
  const wholeTokens = SYSTEM_TOKENS + load.turns * (TURN_TOKENS + ANSWER_TOKENS)
  const engine = toEngine({ ...load, wholeTokens })
  console.log(`${load.conversations} conversations with one system prompt of ${SYSTEM_TOKENS} tokens`)
  const run = async (name: SideName) => await measureSide(name, load, engine)
  const [random, warm] = [await run('random'), await run('warm')]
  const slowest = warm.slowestMs / random.slowestMs
  return [
    { title: 'one system prompt: first token p99, warm ÷ random', unit: '', bar: 1.1, values: [slowest] },
    { title: 'one system prompt: busiest ÷ mean worker', unit: '', bar: 1.25, values: [warm.imbalance] },
  ]
}

async function measureSide(name: SideName, load: Load, engine: ReturnType<typeof toEngine>) {
  const side = await startSide(name, { workers: load.workers, engine })
  try {
    const { cluster, modelOf } = side
    const { apiKey } = await cluster.createAccount('100000')
    const content = writeText(SYSTEM_TOKENS)
    const conversations = Array.from({ length: load.conversations }, (_, index) => ({
      apiKey,
      model: modelOf(index),
      messages: [{ role: 'system' as const, content }],
    }))
    const { turns } = await converse({
      conversations,
      baseUrl: cluster.baseUrl,
      turns: load.turns,
      firstTokens: TURN_TOKENS,
      laterTokens: TURN_TOKENS,
    })
    const firsts = turns.map(({ firstTextMs }) => firstTextMs).toSorted((a, b) => a - b)
    const slowestMs = quantile(firsts, 0.99)
    const served = await Promise.all(
      cluster.workers.map(
        async (worker) =>
          await cluster.metric(worker, 'millrace_worker_generations_total', { result: 'ran' }),
      ),
    )
    const imbalance = Math.max(...served) / (turns.length / served.length)
    console.log(
      `  ${name.padEnd(8)}first token p50 ${quantile(firsts, 0.5).toFixed(0)} ms, p99 ${slowestMs.toFixed(0)} ms, ` +
        `generations by worker ${served.join(', ')}`,
    )
    if (name === 'warm')
      console.log(`          waits for a home ${JSON.stringify(await readHomeWaits(side))}`)
    return { slowestMs, imbalance }
  } finally {
    await side.cluster.stop()
  }
}
