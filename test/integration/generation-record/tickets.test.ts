import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { ticketPrefix } from '#libs/generation-record/keys.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { createTicketPull } from '#libs/ticket-queue/pull-tickets.ts'
import { createTicketQueue, type TicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import { sharedRedis } from '../../support/redis.ts'

let redis: Redis
let tickets: TicketQueue

beforeAll(async () => {
  redis = new Redis(sharedRedis())
  await redis.ping()
  tickets = createTicketQueue(redis)
})

afterAll(async () => {
  await tickets.close()
  redis.disconnect()
})

/** A worker that takes tickets of `model` until the test ends. */
function pull(model: string, onTicket: () => Promise<void>) {
  const log = createLogger('test', 'silent')
  const place = { mode: 'single', url: sharedRedis() } as const
  const patient = openRedis({ place, name: 'test', patience: 'patient', log })
  const ticketPull = createTicketPull({ redis: patient, model, onTicket, log })
  ticketPull.start()
  onTestFinished(async () => {
    await ticketPull.close()
    patient.disconnect()
  })
}

const ticketKeys = async (model: string, part: string) =>
  await redis.exists(`${ticketPrefix(model)}:tickets:${part}`)

test('each ticket is taken once, by one of the workers, and leaves nothing behind', async () => {
  const model = `model-${randomUUID()}`
  let taken = 0
  const take = async () => void (taken += 1)
  pull(model, take)
  pull(model, take)
  const ids = await Promise.all(Array.from({ length: 20 }, async () => await tickets.add(model)))
  expect(new Set(ids).size).toBe(20)
  await vi.waitFor(async () => {
    expect(taken).toBe(20)
    expect(await ticketKeys(model, 'active')).toBe(0)
  })
  for (const part of ['wait', 'completed', 'failed', ...ids]) expect(await ticketKeys(model, part)).toBe(0)
})

test('a worker takes the next ticket when it has room', async () => {
  const model = `model-${randomUUID()}`
  const rooms: (() => void)[] = []
  pull(model, async () => {
    await new Promise<void>((resolve) => rooms.push(resolve))
  })
  await tickets.add(model)
  await tickets.add(model)
  await vi.waitFor(() => expect(rooms).toHaveLength(1))
  await vi.waitFor(async () => expect(await redis.llen(`${ticketPrefix(model)}:tickets:wait`)).toBe(1))
  rooms[0]?.()
  await vi.waitFor(() => expect(rooms).toHaveLength(2))
  rooms[1]?.()
})

test('a removed ticket is never taken; removing one that is unknown or taken does nothing', async () => {
  const model = `model-${randomUUID()}`
  const removed = await tickets.add(model)
  const kept = await tickets.add(model)
  await tickets.remove(model, removed)
  await tickets.remove(model, removed)
  await tickets.remove(model, randomUUID())
  let taken = 0
  const room = Promise.withResolvers<void>()
  pull(model, async () => {
    taken += 1
    await room.promise
  })
  await vi.waitFor(() => expect(taken).toBe(1))
  await tickets.remove(model, kept)
  room.resolve()
  await vi.waitFor(async () => expect(await ticketKeys(model, 'active')).toBe(0))
  expect(taken).toBe(1)
})

test('a ticket whose worker died is handed out again, also for the third time', async () => {
  const model = `model-${randomUUID()}`
  const id = await tickets.add(model)
  // What deaths leave behind: an active ticket without a lock, which has stalled before.
  const prefix = `${ticketPrefix(model)}:tickets`
  await redis.lmove(`${prefix}:wait`, `${prefix}:active`, 'RIGHT', 'LEFT')
  await redis.hset(`${prefix}:${id}`, 'stc', '2')
  await redis.sadd(`${prefix}:stalled`, id)
  let taken = 0
  pull(model, async () => void (taken += 1))
  await vi.waitFor(() => expect(taken).toBe(1), { timeout: 10_000 })
})
