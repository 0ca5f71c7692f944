import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openJobQueue } from '#libs/job-queue/job-queue.ts'
import { parseCredits } from '#libs/money/nano-credits.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { chatOk } from '../support/chat.ts'
import { runs } from '../support/long.ts'
import { startChatOk } from '../support/start-chat.ts'
import { createSteppedClock, type SteppedClock } from '../support/stepped-clock.ts'

const HOUR_MS = 3_600_000
const STEPS_MS = [-HOUR_MS, HOUR_MS, -60_000]

/** Takes about 16 s, longer than the 10 to 13 s after which a gateway without heartbeats counts as dead. */
const LONG = 'Talk [[tokens=320]]'
const SHORT = 'Talk [[tokens=5]]'
/** The cache's blocks are larger than any prompt: no prefix is cached, so equal answers cost the same. */
const ENGINE = {
  model: 'demo-chat',
  files: 'demo',
  maxNumSeqs: 8,
  stepMs: 50,
  kvBlocks: 64,
  blockSize: 4_096,
}
const CREDITS = '100'
/** The engines are this many times faster while they write the answer with which all others are compared. */
const LEARNING_SPEED = 20

type Kind = 'gateway' | 'worker' | 'billing'
const KINDS: readonly Kind[] = ['gateway', 'worker', 'billing']

let cluster: TestCluster
let account: TestAccount
let others: TestAccount
let clocks: Record<Kind, SteppedClock>

beforeAll(async () => {
  clocks = { gateway: createSteppedClock(), worker: createSteppedClock(), billing: createSteppedClock() }
  cluster = await startCluster({
    workers: [[ENGINE], [ENGINE]],
    gatewayEnv: clocks.gateway.env,
    workerEnv: clocks.worker.env,
    billingEnv: clocks.billing.env,
  })
  account = await cluster.createAccount(CREDITS)
  others = await cluster.createAccount(CREDITS)
})
afterAll(() => cluster.stop())

const call = (content: string, { apiKey } = account) => ({ baseUrl: cluster.baseUrl, apiKey, content })

async function setSlowness(slowness: number): Promise<void> {
  const body = JSON.stringify({ slowness })
  expect((await fetch(`${cluster.simulator.opsUrl}/faults`, { method: 'POST', body })).ok).toBe(true)
}

const spent = async () => parseCredits(CREDITS) - (await cluster.balance(account)).posted

test('a step of any process by an hour or a minute loses no stream, and every stream costs what it did before', async () => {
  await setSlowness(1 / LEARNING_SPEED)
  const undisturbed = await chatOk(call(LONG))
  await setSlowness(1)
  await expect.poll(spent).toBeGreaterThan(0n)
  const cost = await spent()

  const rounds = runs(1, KINDS.length)
  for (let round = 0; round < rounds; round += 1) {
    const streams = [0, 1, 2].map(() => startChatOk(call(LONG)))
    await Promise.all(streams.map(({ firstText }) => firstText))
    // Each kind of process gets another step. The kinds step one after the other, as if their machines' clocks were
    // set.
    for (const [at, kind] of KINDS.entries()) {
      await clocks[kind].setAhead(STEPS_MS[(at + round) % STEPS_MS.length] ?? 0)
    }
    for (const { answer } of streams) expect(await answer).toEqual(undisturbed)
    // Requests that begin under stepped clocks are answered, and so are requests that begin after the clocks are
    // corrected.
    expect(await chatOk(call(SHORT, others))).toMatchObject({ finishReason: 'stop', streamError: null })
    for (const kind of KINDS) await clocks[kind].setAhead(0)
    expect(await chatOk(call(SHORT, others))).toMatchObject({ finishReason: 'stop', streamError: null })
  }

  await expectBalancedBooks(cluster, [account, others])
  expect(await spent()).toBe(cost * BigInt(1 + 3 * rounds))
  const logs = [...cluster.gateways, ...cluster.workers, cluster.billing].map((app) => app.logs()).join('\n')
  expect(logs).not.toMatch(/peer is dead|is cut off|goes on elsewhere|expired without/)
})

test('under a gateway clock that is an hour ahead, turns whose worker does not answer run elsewhere, and no job is delayed', async () => {
  const [frozen] = cluster.workers
  if (frozen === undefined) throw new Error('the cluster has no worker')
  const redis = new Redis(cluster.redis.url)
  await clocks.gateway.setAhead(HOUR_MS)
  process.kill(frozen.pid, 'SIGSTOP')
  try {
    // First turns wait for both workers in turn.
    const streams = [1, 2, 3, 4].map((turn) => startChatOk(call(`${SHORT} ${turn}`, others)))
    for (const { answer } of streams) expect(await answer).toMatchObject({ finishReason: 'stop' })
    const queue = openJobQueue(redis, 'demo-chat')
    expect(await queue.getDelayedCount()).toBe(0)
    await queue.close()
  } finally {
    process.kill(frozen.pid, 'SIGCONT')
    await clocks.gateway.setAhead(0)
    redis.disconnect()
  }
}, 8_000)
