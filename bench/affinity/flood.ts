import type { Bar } from '../harness/bars.ts'
import { converse, pauseMs } from './conversations.ts'
import type { Load } from './load.ts'
import { toEngine } from './load.ts'
import { readOffers, startSide } from './start-side.ts'

const TURN_TOKENS = 60
const SLOTS = 3
const [WARM_UP_MS, MEASURED_MS] = [8_000, 20_000]

/**
 * Measures how many tokens are served to each of two accounts. Both want more than half of what the engines can serve,
 * and one of them wants much more. The fair order counts the tokens of prompts, cached or not.
 */
export async function measureFlood({ workers }: Load): Promise<Bar[]> {
  const slots = workers * SLOTS
  const engine = { ...toEngine({ conversations: slots * 6, workers, wholeTokens: 1_000 }), maxNumSeqs: SLOTS }
  const side = await startSide('warm', { workers, engine })
  try {
    const { cluster, modelOf } = side
    const [flood, quiet] = [await cluster.createAccount('100000'), await cluster.createAccount('100000')]
    const of = ({ apiKey }: { apiKey: string }, count: number) =>
      Array.from({ length: count }, () => ({ apiKey, model: modelOf(0), messages: [] }))
    const served = new Map<string, number>()
    const startMs = performance.now()
    const isMeasured = () => performance.now() - startMs > WARM_UP_MS
    const over = pauseMs(WARM_UP_MS + MEASURED_MS)
    let isOver = false
    let cached = 0
    void over.then(() => (isOver = true))
    await converse({
      conversations: [...of(flood, slots * 4), ...of(quiet, slots * 2)],
      baseUrl: cluster.baseUrl,
      turns: 1_000,
      firstTokens: TURN_TOKENS,
      laterTokens: TURN_TOKENS,
      onTurn({ apiKey }, { promptTokens, cachedTokens }) {
        if (isMeasured() && !isOver) cached += cachedTokens
        if (isMeasured() && !isOver) served.set(apiKey, (served.get(apiKey) ?? 0) + promptTokens)
      },
      isOver: () => isOver,
    })
    const [many, few] = [served.get(flood.apiKey) ?? 0, served.get(quiet.apiKey) ?? 0]
    const jain = (many + few) ** 2 / (2 * (many ** 2 + few ** 2))
    console.log(`a flooding account was served ${many} prompt tokens, another one ${few}; ${((100 * cached) / (many + few)).toFixed(0)} % were cached`)
    console.log(`          offers ${JSON.stringify(await readOffers(side))}`)
    return [{ title: 'two accounts, one flooding: Jain', unit: '', bar: 0.98, isFloor: true, values: [jain] }]
  } finally {
    await side.cluster.stop()
  }
}
