import type { Bar } from '../harness/bars.ts'
import { converse } from './conversations.ts'
import { toEngine, type Load } from './load.ts'
import { readHomeWaits, startSide } from './start-side.ts'

const [CONVERSATIONS, TURNS, TURN_TOKENS] = [4, 3, 30]

/** Measures how many turns wait for a worker that is the only one. */
export async function measureOne(_load: Load): Promise<Bar[]> {
  const engine = toEngine({ conversations: CONVERSATIONS, workers: 1, wholeTokens: 1_000 })
  const side = await startSide('warm', { workers: 1, engine })
  try {
    const { cluster, modelOf } = side
    const { apiKey } = await cluster.createAccount('100000')
    const conversations = Array.from({ length: CONVERSATIONS }, () => ({
      apiKey,
      model: modelOf(0),
      messages: [],
    }))
    const tokens = { firstTokens: TURN_TOKENS, laterTokens: TURN_TOKENS }
    await converse({ conversations, baseUrl: cluster.baseUrl, turns: TURNS, ...tokens })
    const count = Object.values(await readHomeWaits(side)).reduce((sum, each) => sum + each, 0)
    return [{ title: 'one worker: waits for a home', unit: '', bar: 0, values: [count] }]
  } finally {
    await side.cluster.stop()
  }
}
