import { expect } from 'vitest'
import { Redis } from 'ioredis'
import { gatherReads } from '#apps/console/live/gather-reads.ts'
import { test as redisTest } from '#test/support/redis-test.ts'
import { until } from '#test/support/until.ts'

const CHANNEL = 'news'

/** A connection that gathers its reads, its messages, and the iterations of the event loop in which data was received. */
const test = redisTest.extend('listener', async ({ server }, { onCleanup }) => {
  const subscriber = new Redis(server.url)
  const stop = gatherReads(subscriber)
  onCleanup(() => {
    stop()
    subscriber.disconnect()
  })
  const listener = { subscriber, received: new Array<string>(), turns: 0 }
  let isCounted = false
  subscriber.on('message', (_channel, text) => {
    listener.received.push(text)
    if (isCounted) return
    isCounted = true
    listener.turns += 1
    setImmediate(() => (isCounted = false))
  })
  await subscriber.subscribe(CHANNEL)
  // From here on the connection is paused between two readings.
  await until(async () => subscriber.stream.isPaused())
  return listener
})

test('messages that come one by one are read together, in their order', async ({ redis, listener }) => {
  const sent = Array.from({ length: 40 }, (_, index) => `message ${index}`)
  for (const text of sent) await redis.publish(CHANNEL, text)
  await expect.poll(() => listener.received.length).toBe(sent.length)
  expect(listener.received).toEqual(sent)
  expect(listener.turns).toBeLessThan(sent.length / 2)
})

test('what is more than waits in this process is read all at once', async ({ redis, listener }) => {
  const text = 'x'.repeat(1_000)
  await Promise.all(Array.from({ length: 1_000 }, async () => redis.publish(CHANNEL, text)))
  await expect.poll(() => listener.received.length).toBe(1_000)
  expect(listener.turns).toBeLessThan(10)
})

test('a connection that was closed is opened and read again', async ({ redis, listener }) => {
  await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await expect.poll(async () => redis.publish(CHANNEL, 'after')).toBe(1)
  await expect.poll(() => listener.received).toContain('after')
  await expect.poll(() => listener.subscriber.stream.isPaused()).toBe(true)
})
