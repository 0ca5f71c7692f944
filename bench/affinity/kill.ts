import type { Bar } from '../harness/bars.ts'
import { converse, sendTurn, writeText } from './conversations.ts'
import { toEngine, type Load } from './load.ts'
import { readHomeWaits, startSide } from './start-side.ts'

const TURN_TOKENS = 30
/** The longest wait for a home, and one second more. */
const MOST_MS = 3_000

/**
 * Measures the turns right after the death of their seat's worker. The prompts are short, so that the time to the first
 * token is the wait.
 */
export async function measureKill(load: Load): Promise<Bar[]> {
  const conversations = load.workers * 6
  const engine = toEngine({ ...load, conversations, wholeTokens: 1_000 })
  const side = await startSide('warm', { workers: load.workers, engine })
  try {
    const { cluster, modelOf } = side
    const { apiKey } = await cluster.createAccount('100000')
    const all = Array.from({ length: conversations }, () => ({ apiKey, model: modelOf(0), messages: [] }))
    const options = { baseUrl: cluster.baseUrl, firstTokens: TURN_TOKENS, laterTokens: TURN_TOKENS }
    await converse({ ...options, conversations: all, turns: 2 })
    const served = await Promise.all(
      cluster.workers.map(
        async (worker) => await cluster.metric(worker, 'millrace_worker_generations_total'),
      ),
    )
    const busiest = cluster.workers[served.indexOf(Math.max(...served))]
    if (busiest === undefined) throw new Error('the cluster has no worker')
    await busiest.kill()
    const turns = await Promise.all(
      all.map(async (each) => await sendTurn(each, cluster.baseUrl, { text: writeText(TURN_TOKENS) })),
    )
    const slowestMs = Math.max(...turns.map(({ firstTextMs }) => firstTextMs))
    console.log(
      `the worker of most of ${conversations} conversations was killed; then the slowest first token ` +
        `took ${slowestMs.toFixed(0)} ms`,
    )
    console.log(`          waits for a home ${JSON.stringify(await readHomeWaits(side))}`)
    return [{ title: 'seat killed: slowest first token', unit: ' ms', bar: MOST_MS, values: [slowestMs] }]
  } finally {
    await side.cluster.stop()
  }
}
