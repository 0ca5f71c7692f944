import { connect, type Socket } from 'node:net'
import type { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitingKey } from '#libs/queue-redis/keys.ts'
import { openJobQueue } from '#libs/job-queue/job-queue.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chatOk } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'

/** The model's engine runs one generation at a time. */
const { model } = FILE_MODELS['hang-up'].engine

let cluster: SharedCluster
let account: TestAccount
let redis: Redis
/** The model's queue, opened like BullMQ's own tools open it. */
let bull: Queue

beforeAll(async () => {
  cluster = await sharedCluster()
  account = await cluster.createAccount('100')
  redis = new Redis(cluster.redisUrl, { maxRetriesPerRequest: null })
  bull = openJobQueue(redis, model)
})

afterAll(async () => {
  await bull.close()
  redis.disconnect()
})

const running = async () => await cluster.metric(cluster.simulator, 'millrace_simulator_running', { model })
const queued = async () => await redis.zcard(waitingKey(model, 'chat'))

const call = (content: string) => ({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content })
const ask = (content: string) => startChatOk(call(content))

test('hanging up while it runs frees the engine, and what was generated is charged', async () => {
  const before = (await cluster.balance(account)).posted
  const chat = ask('Talk [[tokens=1500]]')
  await chat.firstText
  expect(await running()).toBe(1)
  chat.hangUp()
  await expect(chat.answer).rejects.toThrow('aborted')
  await expect.poll(running).toBe(0)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBeLessThan(before)
})

test('hanging up ends all answers of a request, those that run and those that wait in the engine', async () => {
  const before = await cluster.balance(account)
  const chat = startChatOk({ ...call('Talk [[tokens=1500]]'), fields: { n: 3 } })
  await chat.firstText
  expect(await running()).toBe(1)
  expect((await cluster.balance(account)).openHolds).toBe(before.openHolds + 1)
  chat.hangUp()
  await expect(chat.answer).rejects.toThrow('aborted')
  await expect.poll(running).toBe(0)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBeLessThan(before.posted)
})

test('hanging up while it waits in the queue costs nothing, takes its job away, and it never runs', async () => {
  const first = ask('Talk [[tokens=1500]]')
  await first.firstText
  const before = (await cluster.balance(account)).openHolds
  const waiting = ask('Talk [[tokens=1400]]')
  await expect.poll(async () => (await cluster.balance(account)).openHolds).toBe(before + 1)
  await expect.poll(queued).toBe(1)
  expect(await bull.getWaitingCount()).toBe(1)
  waiting.hangUp()
  await expect(waiting.answer).rejects.toThrow('aborted')
  await expect.poll(async () => (await cluster.balance(account)).openHolds).toBe(before)
  await expect.poll(async () => await bull.getWaitingCount()).toBe(0)
  expect(await running()).toBe(1)
  first.hangUp()
  await expect(first.answer).rejects.toThrow('aborted')

  const after = await chatOk(call('Next'))
  expect(after.text).toBe('You said: Next')
  await expectBalancedBooks(cluster, [account])
})

test('a generation whose job is lost while it waits runs all the same', async () => {
  const first = ask('Talk [[tokens=1500]]')
  await first.firstText
  const waiting = ask('Still there?')
  await expect.poll(queued).toBe(1)
  await expect.poll(async () => await bull.getWaitingCount()).toBe(1)
  await bull.drain()
  expect(await bull.getWaitingCount()).toBe(0)
  first.hangUp()
  await expect(first.answer).rejects.toThrow('aborted')
  expect((await waiting.answer).text).toBe('You said: Still there?')
  await expectBalancedBooks(cluster, [account])
})

test('a connection that is reset frees the engine', async () => {
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
  await expect.poll(running).toBe(1)
  socket.destroy()
  await expect.poll(running).toBe(0)
  await expectBalancedBooks(cluster, [account])
})
