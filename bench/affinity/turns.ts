import type { Bar } from '../harness/bars.ts'
import { readThreadsCpuUs } from '../harness/process-cpu.ts'
import { quantile } from '../harness/spread.ts'
import { converse } from './conversations.ts'
import type { Load } from './load.ts'
import { ANSWER_TOKENS, toEngine } from './load.ts'
import { readHomeWaits, startSide, type SideName } from './start-side.ts'

const [FIRST_TOKENS, LATER_TOKENS] = [600, 120]

export async function measureTurns(load: Load): Promise<Bar[]> {
  const wholeTokens = FIRST_TOKENS + (load.turns - 1) * (LATER_TOKENS + ANSWER_TOKENS)
  const engine = toEngine({ ...load, wholeTokens })
  console.log(
    `${load.conversations} conversations of ${load.turns} turns, ${load.workers} engines of ${engine.kvBlocks} blocks`,
  )
  const run = async (name: SideName) => await measureSide(name, load, engine)
  const [random, warm, sticky] = [await run('random'), await run('warm'), await run('sticky')]
  return [
    {
      title: 'uncached tokens, warm ÷ sticky',
      unit: '',
      bar: 1.15,
      values: [warm.uncached / sticky.uncached],
    },
    {
      title: 'uncached tokens, random ÷ warm',
      unit: '',
      bar: 2.3,
      isFloor: true,
      values: [random.uncached / warm.uncached],
    },
    { title: 'time for all turns, warm ÷ random', unit: '', bar: 0.7, values: [warm.tookMs / random.tookMs] },
    {
      title: 'first token of later turns, p50, warm ÷ random',
      unit: '',
      bar: 0.4,
      values: [warm.laterMs / random.laterMs],
    },
    {
      title: 'CPU time of Redis for a call, warm ÷ random',
      unit: '',
      bar: 1,
      values: [warm.redisUs / random.redisUs],
    },
  ]
}

async function measureSide(name: SideName, load: Load, engine: ReturnType<typeof toEngine>) {
  const side = await startSide(name, { workers: load.workers, engine })
  try {
    const { cluster, modelOf } = side
    const { apiKey } = await cluster.createAccount('100000')
    const conversations = Array.from({ length: load.conversations }, (_, index) => ({
      apiKey,
      model: modelOf(index),
      messages: [],
    }))
    const redisBefore = readThreadsCpuUs(cluster.redis.pid())
    const { turns, tookMs } = await converse({
      conversations,
      baseUrl: cluster.baseUrl,
      turns: load.turns,
      firstTokens: FIRST_TOKENS,
      laterTokens: LATER_TOKENS,
    })
    const redisUs = (readThreadsCpuUs(cluster.redis.pid()) - redisBefore) / turns.length
    const prompt = turns.reduce((sum, { promptTokens }) => sum + promptTokens, 0)
    const uncached = turns.reduce((sum, turn) => sum + turn.promptTokens - turn.cachedTokens, 0)
    const later = turns.filter(({ number }) => number > 1).map(({ firstTextMs }) => firstTextMs)
    const laterMs = quantile(
      later.toSorted((a, b) => a - b),
      0.5,
    )
    console.log(
      `  ${name.padEnd(8)}${uncached} of ${prompt} prompt tokens uncached, ${(tookMs / 1_000).toFixed(1)} s, ` +
        `first token of later turns p50 ${laterMs.toFixed(0)} ms, Redis ${redisUs.toFixed(0)} µs a call`,
    )
    if (name === 'warm')
      console.log(`          waits for a home ${JSON.stringify(await readHomeWaits(side))}`)
    return { uncached, tookMs, laterMs, redisUs }
  } finally {
    await side.cluster.stop()
  }
}
