import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Redis } from 'ioredis'
import { gatherReads } from '#apps/console/live/gather-reads.ts'
import { createRedis } from '#test/support/redis.ts'

const CHANNEL = 'news'

let server: Awaited<ReturnType<typeof createRedis>>
let publisher: Redis
let subscriber: Redis
let received: string[]
let turns: number
let stop: () => void

beforeAll(async () => {
  server = await createRedis()
  publisher = new Redis(server.url)
})
afterAll(async () => {
  publisher?.disconnect()
  await server?.stop()
})
afterEach(() => {
  stop()
  subscriber.disconnect()
})

/** Counts the iterations of the event loop in which data was received. */
async function listen(): Promise<void> {
  received = []
  turns = 0
  let isCounted = false
  subscriber = new Redis(server.url)
  stop = gatherReads(subscriber)
  subscriber.on('message', (_channel, text) => {
    received.push(text)
    if (isCounted) return
    isCounted = true
    turns += 1
    setImmediate(() => (isCounted = false))
  })
  await subscriber.subscribe(CHANNEL)
  // From here on the connection is paused between two readings.
  await expect.poll(() => subscriber.stream.isPaused()).toBe(true)
}

test('messages that come one by one are read together, in their order', async () => {
  await listen()
  const sent = Array.from({ length: 40 }, (_, index) => `message ${index}`)
  for (const text of sent) await publisher.publish(CHANNEL, text)
  await expect.poll(() => received.length).toBe(sent.length)
  expect(received).toEqual(sent)
  expect(turns).toBeLessThan(sent.length / 2)
})

test('what is more than waits in this process is read all at once', async () => {
  await listen()
  const text = 'x'.repeat(1_000)
  await Promise.all(Array.from({ length: 1_000 }, async () => publisher.publish(CHANNEL, text)))
  await expect.poll(() => received.length).toBe(1_000)
  expect(turns).toBeLessThan(10)
})

test('a connection that was closed is opened and read again', async () => {
  await listen()
  await publisher.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await expect.poll(async () => publisher.publish(CHANNEL, 'after')).toBe(1)
  await expect.poll(() => received).toContain('after')
  await expect.poll(() => subscriber.stream.isPaused()).toBe(true)
})
