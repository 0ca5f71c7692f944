import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toReportedEngines, WORKER_BEATS, type ReportedEngine } from '#libs/event-bus/heartbeat.ts'
import { subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { sumMetric } from '../../support/cluster.ts'
import { freePort } from '../../support/free-port.ts'
import { startApp, type RunningApp } from '../../support/processes.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'

// Tests a worker process that starts before its engine. The test acts as the supervisor that restarts the engine.

const WAIT = { interval: 20 }

let redis: TestRedis
let subscriber: Redis
let simulator: RunningApp
let worker: RunningApp
let folder: string
let restartFile: string
const states: ReportedEngine[] = []
const last = () => states.at(-1)

beforeAll(async () => {
  redis = await createRedis()
  subscriber = new Redis(redis.url)
  const log = pino({ level: 'silent' })
  await subscribeSignal({ subscriber, log }, WORKER_BEATS, (worker) =>
    states.push(...toReportedEngines(worker)),
  )
  folder = await mkdtemp(join(tmpdir(), 'engine-life-'))
  restartFile = join(folder, 'restart-engine')
})

afterAll(async () => {
  await worker.stop()
  await simulator.stop()
  subscriber.disconnect()
  await redis.stop()
  await rm(folder, { recursive: true })
})

test('a worker reports itself from its start on, before its engine answers', async () => {
  const engine = `127.0.0.1:${await freePort()}`
  const starting = startApp('worker', {
    QUEUE_REDIS_URL: redis.url,
    BUS_REDIS_URL: redis.url,
    WORKERS: JSON.stringify([{ model: 'demo-chat', files: 'demo', engine }]),
    WORKER_NAME: 'pod-1',
    POD_UID: 'uid-1',
    NODE_NAME: 'node-1',
    POOL: 'demo-base',
    ENGINE_RESTART_FILE: restartFile,
  })
  await expect.poll(last, WAIT).toMatchObject({
    name: 'pod-1',
    podUid: 'uid-1',
    node: 'node-1',
    pool: 'demo-base',
    model: 'demo-chat',
    phase: 'loading',
    slots: 0,
    loadingMs: expect.any(Number),
  })
  const engines = [{ listen: engine, model: 'demo-chat', files: 'demo', maxNumSeqs: 8 }]
  simulator = await startApp('simulator', { SIMULATOR_ENGINES: JSON.stringify(engines) })
  worker = await starting
  await expect.poll(last, WAIT).toMatchObject({
    phase: 'ready',
    slots: 8,
    loadingMs: null,
    kvUsed: 0,
    kvCapacity: 8_192 * 16,
  })
  expect(states.findLast(({ phase }) => phase === 'loading')?.id).toBe(last()?.id)
})

test('a dead engine is restarted through the file, which goes as soon as the old process is gone', async () => {
  await changeFaults({ dead: true })
  await expect.poll(() => existsSync(restartFile), WAIT).toBe(true)
  expect(await readFile(restartFile, 'utf8')).toBe('dead\n')
  expect((await fetch(`${worker.opsUrl}/readyz`)).status).toBe(503)
  await expect.poll(last, WAIT).toMatchObject({ phase: 'loading' })

  // Acts like a supervisor that has seen the file: the engine process ends, and another one starts.
  await changeFaults({ refuseConnections: true })
  await expect.poll(() => existsSync(restartFile), WAIT).toBe(false)
  await changeFaults({ refuseConnections: false, dead: false })
  await expect.poll(last, WAIT).toMatchObject({ phase: 'ready' })
  expect((await fetch(`${worker.opsUrl}/readyz`)).status).toBe(200)
  const metrics = await (await fetch(`${worker.opsUrl}/metrics`)).text()
  const restarts = (reason: string) =>
    sumMetric(metrics, 'millrace_worker_engine_restarts_total', { model: 'demo-chat', reason })
  expect(restarts('dead')).toBe(1)
  expect(sumMetric(metrics, 'millrace_worker_load_seconds_count', { model: 'demo-chat' })).toBe(2)
})

test('an engine that listens before it is loaded is waited for: no restart, and no generation before it is healthy', async () => {
  const { length } = states
  await changeFaults({ dead: true, loadMs: 3_000 })
  await expect.poll(() => existsSync(restartFile), WAIT).toBe(true)
  await changeFaults({ refuseConnections: true })
  await expect.poll(() => existsSync(restartFile), WAIT).toBe(false)
  await changeFaults({ refuseConnections: false, dead: false })
  const listeningMs = Date.now()
  await expect.poll(last, WAIT).toMatchObject({ phase: 'ready' })
  expect(Date.now() - listeningMs).toBeGreaterThan(2_500)
  expect(existsSync(restartFile)).toBe(false)
  expect(states.slice(length).map(({ phase }) => phase)).not.toContain('sick')
  await changeFaults({ loadMs: 0 })
})

test('a worker that starts beside a loading engine says that it is connected once the engine is healthy', async () => {
  const engine = `127.0.0.1:${await freePort()}`
  const second = await startApp('simulator', {
    SIMULATOR_ENGINES: JSON.stringify([
      { listen: engine, model: 'late', files: 'demo', faults: { loadMs: 2_000 } },
    ]),
  })
  const file = join(folder, 'restart-late')
  const late = await startApp('worker', {
    QUEUE_REDIS_URL: redis.url,
    BUS_REDIS_URL: redis.url,
    WORKERS: JSON.stringify([{ model: 'late', files: 'demo', engine }]),
    ENGINE_RESTART_FILE: file,
  })
  expect(late.logs()).toMatch(/Engine is starting.*waiting for the engine[^]*engine connected/)
  expect(late.logs()).toContain('"release":"0.32.0 python"')
  expect(existsSync(file)).toBe(false)
  await late.stop()
  await second.stop()
})

test('an engine that is restarted a third time within ten minutes makes its worker sick', async () => {
  for (const _ of [3]) {
    await changeFaults({ dead: true })
    await expect.poll(() => existsSync(restartFile), WAIT).toBe(true)
    await changeFaults({ refuseConnections: true })
    await expect.poll(() => existsSync(restartFile), WAIT).toBe(false)
    await changeFaults({ refuseConnections: false, dead: false })
    await expect.poll(async () => (await fetch(`${worker.opsUrl}/readyz`)).status, WAIT).toBe(200)
  }
  await expect.poll(last, WAIT).toMatchObject({ phase: 'sick' })
})

async function changeFaults(change: object): Promise<void> {
  const response = await fetch(`${simulator.opsUrl}/faults`, { method: 'POST', body: JSON.stringify(change) })
  expect(response.status).toBe(200)
}
