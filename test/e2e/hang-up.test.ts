import { connect, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { waitingKey } from '#libs/generation-record/keys.ts'
import { openJobQueue } from '#libs/job-queue/job-queue.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chatOk } from '../support/chat.ts'
import { test as clusterTest, type Endpoint } from '../support/cluster-test.ts'
import type { SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'

/** The model's engine runs one generation at a time. */
const { model } = FILE_MODELS['hang-up'].engine

const test = clusterTest
  .extend('redis', { scope: 'file' }, ({ cluster }, { onCleanup }) => {
    const redis = new Redis(cluster.redisUrl, { maxRetriesPerRequest: null })
    onCleanup(() => redis.disconnect())
    return redis
  })
  /** The model's queue, opened like BullMQ's own tools open it. */
  .extend('bull', { scope: 'file' }, ({ redis }, { onCleanup }) => {
    const bull = openJobQueue(redis, model)
    onCleanup(async () => await bull.close())
    return bull
  })

const running = async (cluster: SharedCluster) =>
  await cluster.metric(cluster.simulator, 'millrace_simulator_running', { model })
const queued = async (redis: Redis) => await redis.zcard(waitingKey(model, 'chat'))
const ask = (endpoint: Endpoint, content: string) => startChatOk({ ...endpoint, model, content })

test('hanging up while it runs frees the engine, and what was generated is charged', async ({
  cluster,
  account,
  endpoint,
}) => {
  const before = (await cluster.balance(account)).posted
  const chat = ask(endpoint, 'Talk [[tokens=1500]]')
  await chat.firstText
  expect(await running(cluster)).toBe(1)
  chat.hangUp()
  await expect(chat.answer).rejects.toThrow('aborted')
  await expect.poll(() => running(cluster)).toBe(0)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBeLessThan(before)
})

test('hanging up while it waits in the queue costs nothing, takes its job away, and it never runs', async ({
  cluster,
  account,
  endpoint,
  redis,
  bull,
}) => {
  const first = ask(endpoint, 'Talk [[tokens=400]]')
  await first.firstText
  const before = (await cluster.balance(account)).openHolds
  const waiting = ask(endpoint, 'Talk [[tokens=1400]]')
  await expect.poll(async () => (await cluster.balance(account)).openHolds).toBe(before + 1)
  await expect.poll(() => queued(redis)).toBe(1)
  expect(await bull.getWaitingCount()).toBe(1)
  waiting.hangUp()
  await expect(waiting.answer).rejects.toThrow('aborted')
  await expect.poll(async () => (await cluster.balance(account)).openHolds).toBe(before)
  await expect.poll(async () => await bull.getWaitingCount()).toBe(0)
  expect((await first.answer).finishReason).toBe('stop')

  const after = await chatOk({ ...endpoint, model, content: 'Next' })
  expect(after.text).toBe('You said: Next')
  await expectBalancedBooks(cluster, [account])
})

test('a generation whose job is lost while it waits runs all the same', async ({
  cluster,
  account,
  endpoint,
  redis,
  bull,
}) => {
  const first = ask(endpoint, 'Talk [[tokens=100]]')
  await first.firstText
  const waiting = ask(endpoint, 'Still there?')
  await expect.poll(() => queued(redis)).toBe(1)
  await expect.poll(async () => await bull.getWaitingCount()).toBe(1)
  await bull.drain()
  expect(await bull.getWaitingCount()).toBe(0)
  expect((await waiting.answer).text).toBe('You said: Still there?')
  await first.answer
  await expectBalancedBooks(cluster, [account])
})

test('a connection that is reset frees the engine', async ({ cluster, account }) => {
  const body = JSON.stringify({
    model,
    stream: true,
    messages: [{ role: 'user', content: 'Talk [[tokens=1500]]' }],
  })
  const url = new URL(cluster.baseUrl)
  const socket: Socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => {})
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.apiKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  await expect.poll(() => running(cluster)).toBe(1)
  socket.destroy()
  await expect.poll(() => running(cluster)).toBe(0)
  await expectBalancedBooks(cluster, [account])
})
