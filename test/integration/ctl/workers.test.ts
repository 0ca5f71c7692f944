import { Redis } from 'ioredis'
import { pino } from 'pino'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createCordon } from '#apps/worker/intake/cordon.ts'
import { createCapacityReports } from '#apps/worker/reports/report-capacity.ts'
import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import { createPresence } from '#libs/event-bus/presence.ts'
import { CAPACITY, publishSignal } from '#libs/event-bus/scaling-signals.ts'
import { sendCordon, subscribeControl } from '#libs/event-bus/worker-control.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { millrace, spawnMillrace } from './millrace.ts'

let server: TestRedis

beforeEach(async () => {
  server = await createRedis()
  // This clean-up runs last, after the workers' clean-ups.
  onTestFinished(async () => await server.stop())
})

const ENGINE: EngineState = {
  model: 'demo',
  ready: true,
  slots: 8,
  running: 3,
  meanGenerationMs: null,
  slotTokensPerS: null,
  contextWindow: 4_096,
}

/**
 * Starts a worker that exists only on the bus. If `heeds` is true, it obeys requests. `loading` is the model of another
 * engine, which has not answered yet. If `isOld` is true, the worker's release reports no capacity.
 */
async function startWorker(
  id: string,
  given: { name?: string; heeds?: boolean; loading?: string; isOld?: boolean } = {},
): Promise<void> {
  const { name = 'node-1', heeds = true, loading, isOld = false } = given
  const [redis, subscriber] = [new Redis(server.url), new Redis(server.url)]
  const ignore = () => {}
  // One test stops the server of these connections.
  for (const each of [redis, subscriber]) each.on('error', ignore)
  const log = pino({ level: 'silent' })
  let draining = false
  const cordon = createCordon({ onChange: announce, nowMs: () => Date.now(), log })
  const state = (): EngineState => ({ ...ENGINE, ready: !draining && !cordon.isCordoned() })
  const totals = { ended: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 }
  const life = { isSick: () => false, loadingMs: () => 1_000 }
  const capacity = createCapacityReports({
    identity: { id, name, podUid: null, node: `host-of-${name}`, pool: null },
    engines: [
      {
        config: { model: 'demo' },
        life,
        served: {
          state,
          isHealthy: () => true,
          totals: () => totals,
          kv: () => ({ used: null, capacity: null }),
          engine: () => ({ version: '0.32.0 python', waiting: null }),
        },
      },
      ...(loading === undefined ? [] : [{ config: { model: loading }, life, served: null }]),
    ],
    cordon,
    isDraining: () => draining,
    publish: (message) => (isOld ? undefined : void publishSignal({ redis, log }, CAPACITY, message)),
  })
  const presence = await createPresence({
    self: { id, kind: 'worker', name },
    ttlMs: 3_000,
    engines: () => [state()],
    bus: redis,
    subscriber,
    queue: redis,
    onHeartbeat: ignore,
    onDeath: ignore,
    onCutOff: ignore,
    nowMs: () => Date.now(),
    log,
  })
  function announce() {
    presence.announce()
    capacity.send()
  }
  onTestFinished(async () => {
    capacity.stop()
    cordon.close()
    await presence.stop()
    redis.disconnect()
    subscriber.disconnect()
  })
  await subscribeControl({
    subscriber,
    worker: id,
    isHeld: async () => await Promise.resolve(true),
    onStop: ignore,
    onResend: ignore,
    onAsk: ignore,
    onAcknowledge: ignore,
    onVectorsTaken: ignore,
    onHold: ignore,
    onLook: ignore,
    onCount: ignore,
    onDrain() {
      draining = heeds
      announce()
    },
    onCordon: heeds && !isOld ? cordon.cordon : ignore,
    onUncordon: heeds && !isOld ? cordon.uncordon : ignore,
    log,
  })
}

const workers = async (...words: string[]) =>
  await millrace(['workers', ...words], { BUS_REDIS_URL: server.url })

/** Runs the command in a separate process. The process ends only when its connections are closed. */
const spawnWorkers = async (...words: string[]) =>
  await spawnMillrace(['workers', ...words], { BUS_REDIS_URL: server.url })

test('the workers on the bus are listed with their phases, also engines that load and older releases', async () => {
  await startWorker('worker-a', { loading: 'large' })
  await startWorker('worker-b', { name: 'node-2', isOld: true })
  expect(await spawnWorkers('list')).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'name    id        model  node            engine         phase    running  slots',
      'node-1  worker-a  demo   host-of-node-1  0.32.0 python  ready          3      8',
      'node-1  worker-a  large  host-of-node-1  -              loading        0      0',
      'node-2  worker-b  demo   -               -              ready          3      8',
      '',
    ].join('\n'),
  })
})

test('a worker is cordoned, uncordoned and drained by its name', async () => {
  await startWorker('worker-a')
  await startWorker('worker-b', { name: 'node-2' })
  expect(await workers('cordon', 'node-2')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^demo +cordoned$/m),
  })
  const { stdout } = await workers('list', '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    data: [
      { name: 'node-1', engines: [{ phase: 'ready' }] },
      { name: 'node-2', engines: [{ phase: 'cordoned', ready: false, cordonTerm: null }] },
    ],
  })
  expect(await workers('uncordon', 'node-2')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^demo +ready$/m),
  })
  expect(await spawnWorkers('drain', 'node-2')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^demo +draining$/m),
  })
})

test('an operator does not end the cordon of a scaler, and is shown it', async () => {
  await startWorker('worker-a')
  const redis = new Redis(server.url)
  onTestFinished(() => redis.disconnect())
  await sendCordon(redis, 'worker-a', {
    term: 4,
    forMs: 60_000,
    lease: { scaler: 'main', holder: '4 secret' },
  })
  expect(await workers('uncordon', 'worker-a')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^demo +cordoned by a scaler$/m),
  })
})

test('a worker of an older release is drained, and shows no cordon', async () => {
  await startWorker('worker-a', { isOld: true })
  expect(await workers('cordon', 'worker-a')).toMatchObject({ code: 3 })
  expect(await workers('drain', 'worker-a')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^demo +not ready$/m),
  })
})

test('a worker that does not follow, and a bus that does not answer, end with 3', async () => {
  await startWorker('worker-a', { heeds: false })
  for (const what of ['cordon', 'drain']) {
    expect(await workers(what, 'worker-a')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`did not follow the ${what}`),
    })
  }
  expect(await workers('drain', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/No worker called nobody/),
  })
  await server.stop()
  expect(await spawnWorkers('list')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/The bus Redis does not answer: connect ECONNREFUSED/),
  })
  await server.start()
})
