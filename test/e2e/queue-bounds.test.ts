import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { startChat, startChatOk } from '../support/start-chat.ts'

/** In the worker's process the wall clock is an hour ahead. */
const HOUR_AHEAD = `data:text/javascript,${encodeURIComponent('const now = Date.now; Date.now = () => now() + 3_600_000')}`

let cluster: TestCluster
let account: TestAccount

beforeAll(async () => {
  cluster = await startCluster({
    workers: [[{ model: 'demo-chat', files: 'demo', maxNumSeqs: 1, stepMs: 20 }]],
    workerEnv: { NODE_OPTIONS: `--import=${HOUR_AHEAD}` },
    // The drain bound is long, so that only the bytes of large prompts are too much.
    gatewayEnv: {
      QUEUED_BYTES: String(1024 * 1024),
      DRAIN_BOUND_MS: '600000',
      DRAIN_GRACE_MS: '1000',
    },
  })
  account = await cluster.createAccount('100')
})

afterAll(async () => await cluster.stop())

const call = (content: string) => ({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content })

test('a worker whose clock is an hour ahead serves like any other', async () => {
  expect((await chatOk(call('Hi'))).text).toBe('You said: Hi')
  await expectBalancedBooks(cluster, [account])
})

test('the bytes of one account that may wait are bounded; beyond them it gets a retry-after', async () => {
  const first = startChatOk(call('Talk [[tokens=500]]'))
  await first.firstText
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
  await first.answer
  // The prompts are larger than the model's window; a worker reports this.
  const tooLong = { status: 400, error: { code: 'context_length_exceeded' } }
  expect(await Promise.all(waiting)).toMatchObject([tooLong, tooLong])
  await expectBalancedBooks(cluster, [account])
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
