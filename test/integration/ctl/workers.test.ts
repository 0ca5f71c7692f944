import { Redis } from 'ioredis'
import { pino } from 'pino'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createPresence, type EngineState } from '#libs/event-bus/presence.ts'
import { subscribeControl } from '#libs/event-bus/worker-control.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { millrace } from './millrace.ts'

let server: TestRedis

beforeEach(async () => {
  server = await createRedis()
  // The last clean-up: the workers' come before.
  onTestFinished(async () => await server.stop())
})

/** A worker as the bus knows it. `heeds`: it drains when it is asked to. */
async function startWorker(id: string, { name = 'node-1', heeds = true } = {}): Promise<void> {
  const [redis, subscriber] = [new Redis(server.url), new Redis(server.url)]
  const ignore = () => {}
  // One test stops the server under them.
  for (const each of [redis, subscriber]) each.on('error', ignore)
  const log = pino({ level: 'silent' })
  const engine: EngineState = {
    model: 'demo',
    ready: true,
    slots: 8,
    running: 3,
    meanGenerationMs: null,
    contextWindow: 4_096,
  }
  const presence = await createPresence({
    self: { id, kind: 'worker', name },
    ttlMs: 3_000,
    engines: () => [engine],
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
    await presence.stop()
    redis.disconnect()
    subscriber.disconnect()
  })
  await subscribeControl({
    subscriber,
    worker: id,
    onStop: ignore,
    onResend: ignore,
    onAsk: ignore,
    onAcknowledge: ignore,
    onVectorsTaken: ignore,
    onDrain() {
      if (!heeds) return
      engine.ready = false
      presence.announce()
    },
    log,
  })
}

const workers = async (...words: string[]) =>
  await millrace(['workers', ...words], { BUS_REDIS_URL: server.url })

test('the workers on the bus are listed, and one is drained by its name', async () => {
  await startWorker('worker-a')
  await startWorker('worker-b', { name: 'node-2' })
  expect(await workers('list')).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'name    id        model  ready  running  slots',
      'node-1  worker-a  demo   yes          3      8',
      'node-2  worker-b  demo   yes          3      8',
      '',
    ].join('\n'),
  })
  expect(await workers('drain', 'node-2')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^draining +yes$/m),
  })
  const { stdout } = await workers('list', '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    data: [
      { name: 'node-1', engines: [{ ready: true }] },
      { name: 'node-2', engines: [{ ready: false }] },
    ],
  })
})

test('a worker that does not show that it drains, and a bus that does not answer, end with 3', async () => {
  await startWorker('worker-a', { heeds: false })
  expect(await workers('drain', 'worker-a')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/did not show/),
  })
  expect(await workers('drain', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/No worker called nobody/),
  })
  await server.stop()
  expect(await workers('list')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/The bus Redis does not answer: connect ECONNREFUSED/),
  })
  await server.start()
})
