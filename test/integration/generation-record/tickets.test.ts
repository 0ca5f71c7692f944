import { randomUUID } from 'node:crypto'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { modelPrefix, TICKET_QUEUE, ticketPrefix } from '#libs/generation-record/keys.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { createTicketPull } from '#libs/ticket-queue/pull-tickets.ts'
import { createTicketQueue, type TicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import { sharedRedis } from '../../support/redis.ts'

let redis: Redis
let tickets: TicketQueue

beforeAll(async () => {
  redis = new Redis(sharedRedis(), { maxRetriesPerRequest: null })
  await redis.ping()
  tickets = createTicketQueue(redis)
})

afterAll(async () => {
  await tickets.close()
  redis.disconnect()
})

/** A worker that can wait for tickets of `model`. */
function openPull(model: string) {
  const log = createLogger('test', 'silent')
  const place = { mode: 'single', url: sharedRedis() } as const
  const patient = openRedis({ place, name: 'test', patience: 'patient', log })
  const pull = createTicketPull({ redis: patient, model, log })
  onTestFinished(async () => {
    await pull.close()
    patient.disconnect()
  })
  return pull
}

/** A worker that waits again each time it was woken. The first answer says only that it waits from then on. */
async function waitAlways(model: string) {
  const pull = openPull(model)
  const state = { woken: 0, stop: false }
  onTestFinished(() => void (state.stop = true))
  await pull.next()
  void (async () => {
    while (!state.stop) {
      await pull.next()
      state.woken += 1
    }
  })()
  return state
}

const clients = async () => await redis.client('LIST')
/** Resolves when as many workers more wait than in `before`. */
async function untilWaiting(count: number) {
  const blocked = async () =>
    String(await clients())
      .split('\n')
      .filter((line) => /cmd=bzpopmin/u.test(line)).length
  await expect.poll(blocked).toBeGreaterThanOrEqual(count)
}

test('each ticket wakes one worker that waits, and each in its turn', async () => {
  const model = `model-${randomUUID()}`
  const workers = [await waitAlways(model), await waitAlways(model)]
  const woken = () => workers.map(({ woken: times }) => times)
  await untilWaiting(2)
  for (let added = 1; added <= 6; added += 1) {
    await tickets.add(model)
    await expect.poll(() => woken().reduce((sum, times) => sum + times, 0)).toBe(added)
    await untilWaiting(2)
  }
  expect(woken()).toEqual([3, 3])
})

test('tickets that no worker waits for wake the next one once, and are one job', async () => {
  const model = `model-${randomUUID()}`
  await Promise.all(Array.from({ length: 50 }, async () => await tickets.add(model)))
  const worker = await waitAlways(model)
  await expect.poll(() => worker.woken).toBe(1)
  const queue = new Queue(TICKET_QUEUE, { connection: redis, prefix: ticketPrefix(model) })
  onTestFinished(async () => await queue.close())
  expect(await queue.getJobCounts()).toMatchObject({ delayed: 1, waiting: 0, active: 0, completed: 0 })
  expect(await redis.xlen(`${modelPrefix(model)}tickets:events`)).toBeLessThan(10)
})

test('a ticket that is passed on wakes another worker', async () => {
  const model = `model-${randomUUID()}`
  const first = openPull(model)
  await first.next()
  const woken = first.next()
  await untilWaiting(1)
  await tickets.add(model)
  await woken
  const second = await waitAlways(model)
  expect(second.woken).toBe(0)
  await first.pass()
  await expect.poll(() => second.woken).toBe(1)
})

test('a ticket that has become due, or was promoted, is taken and replaced by the next', async () => {
  const model = `model-${randomUUID()}`
  await tickets.add(model)
  const queue = new Queue(TICKET_QUEUE, { connection: redis, prefix: ticketPrefix(model) })
  onTestFinished(async () => await queue.close())
  const [job] = await queue.getDelayed()
  await job?.promote()
  await tickets.add(model)
  expect(await queue.getJobCounts()).toMatchObject({ delayed: 0, waiting: 1 })
  const worker = await waitAlways(model)
  await expect
    .poll(async () => await queue.getJobCounts())
    .toMatchObject({ waiting: 0, active: 0, completed: 0, failed: 0 })
  await untilWaiting(1)
  const before = worker.woken
  await tickets.add(model)
  await expect.poll(() => worker.woken).toBeGreaterThan(before)
  expect(await queue.getJobCounts()).toMatchObject({ delayed: 1 })
})

test('a worker that is closed waits no longer', async () => {
  const pull = openPull(`model-${randomUUID()}`)
  await pull.next()
  const waiting = pull.next()
  await pull.close()
  await expect(waiting).resolves.toBeUndefined()
})
