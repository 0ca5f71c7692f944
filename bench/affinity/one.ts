import type { Bar } from '../harness/bars.ts'
import { converse } from './conversations.ts'
import { toEngine, type Load } from './load.ts'
import { readOffers, startSide } from './start-side.ts'

const [CONVERSATIONS, TURNS, TURN_TOKENS] = [4, 3, 30]

/** Measures how many offers are made to a worker that is the only one. */
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
    const { refused = 0, ...made } = await readOffers(side)
    const count = Object.values(made).reduce((sum, each) => sum + each, 0)
    console.log(`one worker: ${count} offers, ${refused} turns whose seat was found`)
    return [{ title: 'one worker: offers', unit: '', bar: 0, values: [count] }]
  } finally {
    await side.cluster.stop()
  }
}
