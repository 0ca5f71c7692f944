import { Redis } from 'ioredis'
import { pino } from 'pino'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createCordon } from '#apps/worker/intake/cordon.ts'
import { toEngineState } from '#apps/worker/reports/engine-state.ts'
import { createPresence } from '#libs/event-bus/presence.ts'
import { sendCordon, subscribeControl } from '#libs/event-bus/worker-control.ts'
import { toBeat, toEngine } from '../../support/heartbeats.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { millrace, spawnMillrace } from './millrace.ts'

let server: TestRedis

beforeEach(async () => {
  server = await createRedis()
  // This clean-up runs last, after the workers' clean-ups.
  onTestFinished(async () => await server.stop())
})

/**
 * Starts a worker that exists only on the bus. If `heeds` is true, it obeys requests. `loading` is the model of another
 * engine, which has not answered yet.
 */
async function startWorker(
  id: string,
  given: { name?: string; heeds?: boolean; loading?: string } = {},
): Promise<void> {
  const { name = 'node-1', heeds = true, loading } = given
  const [redis, subscriber] = [new Redis(server.url), new Redis(server.url)]
  const ignore = () => {}
  // One test stops the server of these connections.
  for (const each of [redis, subscriber]) each.on('error', ignore)
  const log = pino({ level: 'silent' })
  let draining = false
  const cordon = createCordon({ onChange: () => presence.announce(), nowMs: () => Date.now(), log })
  const life = { isSick: () => false, loadingMs: () => 1_000 }
  const state = () => toEngine({ model: 'demo', running: 3, version: '0.32.0 python' })
  const engines = [
    { config: { model: 'demo' }, life, served: { state, isHealthy: () => true } },
    ...(loading === undefined ? [] : [{ config: { model: loading }, life, served: null }]),
  ]
  const presence = await createPresence({
    ttlMs: 3_000,
    heartbeat: () => ({
      ...toBeat({ id, name, node: `host-of-${name}`, cordonTerm: cordon.term() }),
      engines: engines.map((engine) => toEngineState(engine, { draining, cordoned: cordon.isCordoned() })),
    }),
    bus: redis,
    subscriber,
    queue: redis,
    onHeartbeat: ignore,
    onDeath: ignore,
    onCutOff: ignore,
    nowMs: () => Date.now(),
    log,
  })
  onTestFinished(async () => {
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
      presence.announce()
    },
    onCordon: heeds ? cordon.cordon : ignore,
    onUncordon: heeds ? cordon.uncordon : ignore,
    log,
  })
}

const workers = async (...words: string[]) =>
  await millrace(['workers', ...words], { BUS_REDIS_URL: server.url })

/** Runs the command in a separate process. The process ends only when its connections are closed. */
const spawnWorkers = async (...words: string[]) =>
  await spawnMillrace(['workers', ...words], { BUS_REDIS_URL: server.url })

test('the workers on the bus are listed with their phases, also engines that load', async () => {
  await startWorker('worker-a', { loading: 'large' })
  await startWorker('worker-b', { name: 'node-2' })
  expect(await spawnWorkers('list')).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'name    id        model  node            engine         phase    running  slots',
      'node-1  worker-a  demo   host-of-node-1  0.32.0 python  ready          3      8',
      'node-1  worker-a  large  host-of-node-1  -              loading        0      0',
      'node-2  worker-b  demo   host-of-node-2  0.32.0 python  ready          3      8',
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
      { name: 'node-2', cordonTerm: null, engines: [{ phase: 'cordoned' }] },
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
