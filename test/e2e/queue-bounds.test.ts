import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { startChat, startChatOk } from '../support/start-chat.ts'

/** In the worker's process the wall clock is an hour ahead. */
const HOUR_AHEAD = `data:text/javascript,${encodeURIComponent('const now = Date.now; Date.now = () => now() + 3_600_000')}`
/** Both engines run one generation at a time. */
const ENGINE = { model: 'demo-chat', files: 'demo', maxNumSeqs: 1, stepMs: 20 }
const QUICK = { model: 'millrace/demo-chat', files: 'demo', maxNumSeqs: 1, stepMs: 1, sequenceMs: 0 }

let cluster: TestCluster
let account: TestAccount

beforeAll(async () => {
  cluster = await startCluster({
    workers: [[ENGINE, QUICK]],
    workerEnv: { NODE_OPTIONS: `--import=${HOUR_AHEAD}` },
    // The drain bound is a day, so that only the bytes of large prompts are too much, however slow the machine is.
    gatewayEnv: {
      QUEUED_BYTES: String(1024 * 1024),
      DRAIN_BOUND_MS: '86400000',
      DRAIN_GRACE_MS: '1000',
    },
  })
  account = await cluster.createAccount('100')
})

afterAll(async () => await cluster.stop())

const call = (content: string) => ({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content })

/** Occupies the slot of an engine, which takes 0.5 s for a token meanwhile. The returned function frees the slot. */
async function occupySlot({ model, stepMs }: typeof ENGINE): Promise<() => Promise<void>> {
  async function slowDown(slowness: number) {
    const body = JSON.stringify({ engine: model, slowness })
    expect((await fetch(`${cluster.simulator.opsUrl}/faults`, { method: 'POST', body })).ok).toBe(true)
  }
  await slowDown(500 / stepMs)
  const { answer, firstText, hangUp } = startChat({ ...call('Talk [[tokens=1800]]'), model })
  await firstText
  return async () => {
    await slowDown(1)
    hangUp()
    await expect(answer).rejects.toThrow('abort')
  }
}

test('a worker whose clock is an hour ahead serves like any other', async () => {
  expect((await chatOk(call('Hi'))).text).toBe('You said: Hi')
  await expectBalancedBooks(cluster, [account])
})

test('the bytes of one account that may wait are bounded; beyond them it gets a retry-after', async () => {
  const freeSlot = await occupySlot(ENGINE)
  // Each prompt is half of the account's quarter and cannot be compressed. The requests are not streamed, because a
  // stream that waits for long has the status 200 before its error.
  const unstreamed = { stream: false, stream_options: undefined }
  const large = () => chat({ ...call(randomBytes(100 * 1024).toString('hex')), fields: unstreamed })
  const waiting = [large(), large()]
  await expect
    .poll(async () => await cluster.metric(cluster.gateways[0] ?? fail(), 'millrace_queue_waiting_bytes'))
    .toBeGreaterThan(200 * 1024)
  expect(await large()).toMatchObject({
    status: 429,
    error: { code: 'model_busy' },
    retryAfter: expect.any(String),
  })
  await freeSlot()
  // The prompts are larger than the model's window; a worker reports this.
  const tooLong = { status: 400, error: { code: 'context_length_exceeded' } }
  expect(await Promise.all(waiting)).toMatchObject([tooLong, tooLong])
  await expectBalancedBooks(cluster, [account])
})

/**
 * Of all three accounts, the one with the largest requests has the least to do: when its last request runs, the others
 * still have waiting requests.
 */
const SHARES = [
  { name: 'large', weight: 1, tokens: 80, requests: 16 },
  { name: 'small', weight: 1, tokens: 10, requests: 70 },
  { name: 'heavy', weight: 3, tokens: 40, requests: 110 },
]
/** From this number of answers on, a gateway knows how long the answers of an account are. */
const LEARNED_ANSWERS = 20

test('accounts with waiting requests share the tokens of an engine by their weights, whatever the sizes of the requests', async () => {
  const { model } = QUICK
  const redis = new Redis(cluster.redis.url)
  const countWaiting = createCountWaiting(redis)
  const answered: { name: string; used: number }[] = []
  async function ask({ apiKey, name, tokens }: TestAccount & { name: string; tokens: number }) {
    const content = `Talk [[tokens=${tokens}]]`
    const answer = await chatOk({ baseUrl: cluster.baseUrl, apiKey, model, content })
    answered.push({ name, used: answer.promptTokens + answer.completionTokens })
  }
  const askTimes = (count: number, by: Parameters<typeof ask>[0]) =>
    Array.from({ length: count }, async () => await ask(by))

  const sharers = await Promise.all(
    SHARES.map(async (share) => {
      const created = await cluster.createAccount('100')
      await cluster.admin.call(ADMIN.changeAccount, { account: created.id, weight: share.weight })
      return { ...created, ...share }
    }),
  )
  await Promise.all(sharers.flatMap((by) => askTimes(LEARNED_ANSWERS, by)))
  answered.length = 0

  const freeSlot = await occupySlot(QUICK)
  const backlog = sharers.flatMap((by) => askTimes(by.requests, by))
  const untilWaiting = async () =>
    await expect.poll(async () => (await countWaiting(model)).count).toBe(backlog.length)
  await untilWaiting()
  const newcomer = { ...(await cluster.createAccount('100')), name: 'newcomer', tokens: 10 }
  backlog.push(ask(newcomer))
  await untilWaiting()
  await freeSlot()
  await Promise.all(backlog)

  // One slot answers the requests in the order in which they were claimed.
  const order = answered.map(({ name }) => name)
  const measured = answered.slice(0, order.lastIndexOf('large'))
  const tokensOf = (name: string) =>
    measured.reduce((sum, each) => sum + (each.name === name ? each.used : 0), 0)
  for (const { name, weight } of SHARES) {
    const share = tokensOf(name) / tokensOf('large') / weight
    expect(share).toBeGreaterThan(0.95)
    expect(share).toBeLessThan(1.05)
  }
  const rest = order.slice(measured.length)
  expect(rest).toContain('small')
  expect(rest).toContain('heavy')
  // The first request of each account that was there before has the same place in the fair order.
  expect(order.indexOf('newcomer')).toBeLessThanOrEqual(SHARES.length + 1)
  redis.disconnect()
  await expectBalancedBooks(cluster, [account, newcomer, ...sharers])
})

test('a full Redis: new work is refused, what runs ends and is settled, and all goes on when there is room', async () => {
  const redis = new Redis(cluster.redis.url)
  const running = startChatOk(call('Talk [[tokens=300]]'))
  await running.firstText
  const used = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]
  await redis.config('SET', 'maxmemory-policy', 'noeviction')
  await redis.config('SET', 'maxmemory', Math.floor(Number(used) / 2))
  expect(await chat(call('Hi'))).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  expect((await running.answer).finishReason).toBe('stop')
  // These requests were settled while the memory was full.
  await expectBalancedBooks(cluster, [account])
  await redis.config('SET', 'maxmemory', 0)
  await expect.poll(async () => (await chat(call('Hi'))).status).toBe(200)
  for (const app of [...cluster.gateways, ...cluster.workers])
    expect(app.logs()).not.toContain('peer is dead')
  redis.disconnect()
  await expectBalancedBooks(cluster, [account])
})

test('a stream that outlasts the grace of a stopping gateway ends with an error, free', async () => {
  const before = (await cluster.balance(account)).posted
  const stream = startChat(call('Talk [[tokens=1500]]'))
  await stream.firstText
  await cluster.gateways[0]?.stop()
  expect(await stream.answer).toMatchObject({ streamError: { code: 'upstream_error' } })
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before)
})

function fail(): never {
  throw new Error('there is no gateway')
}
