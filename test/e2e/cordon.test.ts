import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toReportedEngines, WORKER_BEATS, type ReportedEngine } from '#libs/event-bus/heartbeat.ts'
import { subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { sendCordon, sendUncordon, type Lease } from '#libs/event-bus/worker-control.ts'
import { scalerKeys } from '#libs/queue-redis/keys.ts'
import { chatOk } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { startOwnWorkers, type OwnWorkers } from '../support/own-parts.ts'
import type { RunningApp } from '../support/processes.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'
import { until } from '../support/until.ts'

const { model } = UNSERVED_MODELS.cordon
const ENGINE = { model, files: 'demo', maxNumSeqs: 8, stepMs: 20 }
/** Takes about 8 s. */
const LONG = 'Talk [[tokens=400]]'
const WAIT = { interval: 20 }
const SCALER = 'of-the-test'

let cluster: SharedCluster
let own: OwnWorkers
let account: TestAccount
let bus: Redis
let subscriber: Redis
/** The last state of each worker's engine, and the number of its heartbeats. */
const reports = new Map<string, { engine: ReportedEngine; count: number }>()

beforeAll(async () => {
  cluster = await sharedCluster()
  own = await startOwnWorkers(cluster, [[ENGINE], [ENGINE]])
  account = await cluster.createAccount('100')
  bus = new Redis(cluster.redisUrl)
  subscriber = new Redis(cluster.redisUrl)
  await subscribeSignal({ subscriber, log: pino({ level: 'silent' }) }, WORKER_BEATS, (worker) => {
    const engine = toReportedEngines(worker).find((each) => each.model === model)
    if (engine === undefined) return
    reports.set(worker.id, { engine, count: (reports.get(worker.id)?.count ?? 0) + 1 })
  })
  await until(async () => reports.size === 2)
})

/** Takes the lead of the scalers, and returns the lease. */
async function lead(term: number): Promise<Lease> {
  const lease = { scaler: SCALER, holder: `${term} secret` }
  await bus.set(scalerKeys(SCALER).leader, lease.holder, 'PX', 120_000)
  return lease
}

afterAll(async () => {
  await bus.del(scalerKeys(SCALER).leader)
  bus.disconnect()
  subscriber.disconnect()
  await own.stop()
})

function engineOf(id: string): ReportedEngine {
  const report = reports.get(id)
  if (report === undefined) throw new Error(`worker ${id} reported nothing`)
  return report.engine
}

/** Resolves with the state in a heartbeat that the worker sends after this call. */
async function nextState(id: string): Promise<ReportedEngine> {
  const count = reports.get(id)?.count ?? 0
  // The next heartbeat may have been sent before this call, so two are awaited.
  await until(async () => (reports.get(id)?.count ?? 0) >= count + 2)
  return engineOf(id)
}

const call = () => ({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model })
const chats = async (count: number) =>
  await Promise.all(Array.from({ length: count }, async () => await chatOk({ ...call(), content: 'Hi' })))

/** Sends chats until this worker has run one. */
async function untilItServes(id: string): Promise<void> {
  const { ended } = engineOf(id)
  await until(async () => {
    await chats(8)
    return (await nextState(id)).ended > ended
  })
}

/** Starts a stream. Resolves with the stream and the worker that runs it. */
async function startOn(): Promise<{ id: string; answer: ReturnType<typeof chatOk> }> {
  const { answer, firstText } = startChatOk({ ...call(), content: LONG })
  // Before its first text a stream may move to another worker, because its hold was too small.
  await firstText
  const states = await Promise.all([...reports.keys()].map(nextState))
  const busy = states.find(({ running }) => running > 0)
  if (busy === undefined) throw new Error('no worker runs the stream')
  return { id: busy.id, answer }
}

async function appOf(id: string): Promise<RunningApp> {
  for (const app of own.workers) if (app.logs().includes(id)) return app
  throw new Error(`no worker process has the id ${id}`)
}

test('a cordoned worker takes nothing more, runs what it has to its end, and stays ready for probes', async () => {
  const { id, answer } = await startOn()
  expect(await sendCordon(bus, id, { term: 1, forMs: 120_000, lease: await lead(1) })).toBe(true)
  await expect.poll(() => engineOf(id), WAIT).toMatchObject({ phase: 'cordoned', cordonTerm: 1 })
  expect((await answer).finishReason).toBe('stop')
  await expect.poll(() => engineOf(id), WAIT).toMatchObject({ phase: 'cordoned', running: 0 })
  const { ended } = engineOf(id)
  await chats(8)
  expect(await nextState(id)).toMatchObject({ phase: 'cordoned', running: 0, ended })
  expect((await fetch(`${(await appOf(id)).opsUrl}/readyz`)).status).toBe(200)

  // This uncordon is from a scaler that has lost its lead.
  await sendUncordon(bus, id, { term: 0, lease: { scaler: SCALER, holder: '0 secret' } })
  expect(await nextState(id)).toMatchObject({ phase: 'cordoned' })
  await sendUncordon(bus, id, { term: 1, lease: await lead(1) })
  await expect.poll(() => engineOf(id), WAIT).toMatchObject({ phase: 'ready', cordonTerm: null })
  await untilItServes(id)
})

test('a cordon that is not renewed ends by itself', async () => {
  const [id = ''] = reports.keys()
  await sendCordon(bus, id, { term: 2, forMs: 2_000, lease: await lead(2) })
  await expect.poll(() => engineOf(id), WAIT).toMatchObject({ phase: 'cordoned', cordonTerm: 2 })
  await expect.poll(() => engineOf(id), WAIT).toMatchObject({ phase: 'ready', cordonTerm: null })
  await untilItServes(id)
})

test('a second SIGTERM during a drain keeps the stream', async () => {
  const { text: undisturbed } = await chatOk({ ...call(), content: LONG })
  const { id, answer } = await startOn()
  // No other worker takes the stream over.
  for (const other of reports.keys()) {
    if (other === id) continue
    await sendCordon(bus, other, { term: null, forMs: null })
    await expect.poll(() => engineOf(other), WAIT).toMatchObject({ phase: 'cordoned' })
  }
  await nextState(id)
  const app = await appOf(id)
  app.signal('SIGTERM')
  await expect.poll(() => engineOf(id), WAIT).toMatchObject({ phase: 'draining', running: 1 })
  app.signal('SIGTERM')
  expect(await answer).toMatchObject({ text: undisturbed, finishReason: 'stop' })
  expect(await app.exited).toBe('exit code 0')
  expect(app.logs()).not.toContain('"reason":"worker-stopping"')
})
