import { createRandom } from '../scaling/random.ts'
import { startCluster } from '../../test/support/cluster.ts'
import { chat } from '../../test/support/chat.ts'
import { setup, teardown } from '../../test/support/global-setup.ts'
import { MOST_TRIES } from './loads.ts'

const SLOTS = 8
const STEP_MS = 20
/** Until then the gateway learns how long answers are and how fast the engine is. Earlier refusals are not counted. */
const MEASURE_FROM_S = 80
const MEAN_TOKENS = 100
/** The context window of the simulated model has room for this many. */
const MOST_TOKENS = 1_500
const ACCOUNTS = 3

type Attempt = {
  readonly account: number
  readonly sentMs: number
  told: { atMs: number; saidMs: number } | null
}

/**
 * Loads a cluster of real processes with 1.5 times the requests that its simulated engine can answer, for `seconds`.
 * A refused client comes back after its `retry-after`. The real wait of a refusal ends when the account sends the next
 * request that the gateway admits.
 */
export async function loadCluster(seconds: number) {
  await setup()
  const cluster = await startCluster({
    workers: [[{ model: 'demo-chat', files: 'demo', maxNumSeqs: SLOTS, stepMs: STEP_MS }]],
  })
  try {
    const random = createRandom(1)
    const keys: string[] = []
    for (let account = 0; account < ACCOUNTS; account += 1)
      keys.push((await cluster.createAccount('1000')).apiKey)
    const attempts: Attempt[] = []
    const open = new Set<Promise<void>>()
    const over = new AbortController()

    const send = async (account: number, content: string, triesLeft: number): Promise<void> => {
      if (triesLeft === 0 || over.signal.aborted) return
      const attempt: Attempt = { account, sentMs: performance.now(), told: null }
      attempts.push(attempt)
      const answer = await chat({
        baseUrl: cluster.baseUrl,
        apiKey: keys[account] ?? '',
        content,
        signal: over.signal,
      }).catch(() => null)
      if (answer === null || !('error' in answer)) return
      if (answer.status !== 429) throw new Error(`HTTP ${answer.status}: ${JSON.stringify(answer.error)}`)
      const saidMs = 1_000 * Number(answer.retryAfter)
      attempt.told = { atMs: performance.now(), saidMs }
      await pause(saidMs)
      await send(account, content, triesLeft - 1)
    }

    const perS = (1.5 * SLOTS * 1_000) / (MEAN_TOKENS * STEP_MS)
    const startMs = performance.now()
    const endMs = startMs + seconds * 1_000
    while (performance.now() < endMs) {
      const account = Math.floor(random.uniform() * ACCOUNTS)
      const tokens = Math.min(MOST_TOKENS, Math.max(1, Math.round(random.lognormal(MEAN_TOKENS, 1))))
      const sent = send(account, `[[tokens=${tokens}]]`, MOST_TRIES).finally(() => open.delete(sent))
      open.add(sent)
      await pause((-Math.log(1 - random.uniform()) * 1_000) / perS)
    }
    const [gateway] = cluster.gateways
    if (gateway === undefined) throw new Error('the cluster has no gateway')
    const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
    over.abort()
    await Promise.all(open)
    return {
      attempts: attempts.length,
      refusals: toRefusals(attempts, startMs + MEASURE_FROM_S * 1_000),
      takenMs: attempts.flatMap(({ sentMs, told }) => (told === null ? [] : [told.atMs - sentMs])),
      ...readRefusalTimes(metrics),
    }
  } finally {
    await cluster.stop()
    await teardown()
  }
}

/** Returns the share of the refusals that took the gateway at most 10 ms, and the mean of all, in ms. */
function readRefusalTimes(metrics: string) {
  const value = (suffix: string) => {
    const name = `gen_ai_server_request_duration_seconds_${suffix}`
    const line = metrics.split('\n').find((each) => each.startsWith(name) && each.includes('"model_busy"'))
    if (line === undefined) throw new Error(`the gateway has no ${name} of refusals`)
    return Number(line.split(' ').at(-1))
  }
  const count = value('count')
  return { quickShare: value('bucket') / count, meanMs: (1_000 * value('sum')) / count }
}

function toRefusals(attempts: readonly Attempt[], fromMs: number) {
  const admitted = attempts.filter(({ told }) => told === null)
  return attempts.flatMap(({ account, told }) => {
    if (told === null || told.atMs < fromMs) return []
    const next = admitted.find((each) => each.account === account && each.sentMs > told.atMs)
    return next === undefined ? [] : [{ saidMs: told.saidMs, realMs: next.sentMs - told.atMs }]
  })
}

async function pause(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, ms)
  await promise
}
