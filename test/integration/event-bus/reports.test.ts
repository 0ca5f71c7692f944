import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { reportsChannel } from '#libs/event-bus/channels.ts'
import {
  describeProcess,
  publishObserve,
  REPORTS,
  startReporter,
  type Report,
  type WorkerReport,
} from '#libs/event-bus/reports.ts'
import { subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { createRedis } from '../../support/redis.ts'

const WAIT = { interval: 10 }
const log = pino({ level: 'silent' })

function workerReport(id: string): WorkerReport {
  return { ...describeProcess({ id, name: id }), kind: 'worker', pendingSettlements: 0, engines: [] }
}

/** Opens a bus with a console's subscription to reports, and the connections of a reporting process. */
async function setUp() {
  const redis = await createRedis()
  const connect = async (name: string) =>
    await connectRedis({ place: { mode: 'single', url: redis.url }, name, patience: 'patient', log })
  const [bus, subscriber, ears] = [
    await connect('bus'),
    await connect('subscriber'),
    await connect('console'),
  ]
  const received: Report[] = []
  await subscribeSignal({ subscriber: ears, log }, REPORTS, (report) => received.push(report))
  onTestFinished(async () => {
    for (const connection of [bus, subscriber, ears]) connection.disconnect()
    await redis.stop()
  })
  return { bus, received, server: { bus, subscriber } }
}

test('a process reports at once, and every two seconds only while it is observed', async () => {
  const { bus, received, server } = await setUp()
  const states: { watched: boolean; begins: boolean }[] = []
  const clock = { nowMs: 0 }
  const reporter = await startReporter({
    servers: [server],
    build(state) {
      states.push(state)
      return workerReport('w1')
    },
    nowMs: () => clock.nowMs,
    log,
  })
  onTestFinished(() => reporter.stop())
  await expect.poll(() => received, WAIT).toHaveLength(1)
  await publishObserve({ redis: bus, log }, 10_000)
  await expect.poll(() => received.length, WAIT).toBe(2)
  await expect.poll(() => received.length, WAIT).toBe(3)
  // The console has left. The report that was already scheduled is the last at the short interval.
  clock.nowMs = 10_000
  await expect.poll(() => received.length, WAIT).toBe(4)
  expect(states).toEqual([
    { watched: false, begins: false },
    { watched: true, begins: true },
    { watched: true, begins: false },
    { watched: false, begins: false },
  ])
  expect(received[0]).toMatchObject({ kind: 'worker', id: 'w1', pid: process.pid })
})

test('reports of a later release are read as far as they are known', async () => {
  const { bus, received } = await setUp()
  const known = workerReport('w1')
  const publish = async (report: object) => await bus.publish(reportsChannel(), JSON.stringify(report))
  await bus.publish(reportsChannel(), 'no JSON')
  await publish({ ...known, kind: 'router', id: 'of-another-kind' })
  await publish({ ...known, id: 'of-a-later-release', fuel: 7, engines: [{ ...ENGINE, temperature: 80 }] })
  await publish(known)
  await expect.poll(() => received.map(({ id }) => id), WAIT).toEqual(['of-a-later-release', 'w1'])
  expect(received[0]).toMatchObject({ engines: [ENGINE] })
  expect(received[0]).not.toHaveProperty('fuel')
})

const ENGINE = {
  model: 'chat',
  address: '127.0.0.1:1',
  problem: null,
  refuses: ['tools'],
}
