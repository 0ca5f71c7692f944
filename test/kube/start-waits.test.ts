import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import { subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { freePort } from '../support/free-port.ts'
import { readEvents } from '../support/sse-events.ts'
import { until } from '../support/until.ts'
import { openRelease, type Release } from './open-release.ts'
import { startPodWorkers, type PodWorkers } from './pod-workers.ts'
import { modelValues, poolName } from './release-values.ts'
import { quantile } from './settings.ts'

// Gateway, billing, workers, the scaler, KEDA and the control plane are real processes. The test takes the kubelet's
// part: it starts and stops the workers' processes. The engines are simulated.

const MODEL = 'demo-chat'
const POOL = poolName(MODEL)
const CALLERS = 20
const ACCOUNTS = 4
/** For this time the engine of a new pod listens and is not loaded. */
const LOAD_MS = 3_000
/** From the worker's first report as ready to the first token of the last caller. */
const FIRST_TOKEN_LIMIT_MS = 1_000

let cluster: TestCluster
let release: Release
let workers: PodWorkers
let accounts: TestAccount[]
let subscriber: Redis
let readyAtMs: number | null = null

beforeAll(async () => {
  const engines = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const engine = { model: MODEL, files: 'demo', maxNumSeqs: CALLERS, stepMs: 20 }
  cluster = await startCluster({
    workers: [],
    simulatorEnv: { SIMULATOR_ENGINES: JSON.stringify(engines.map((listen) => ({ ...engine, listen }))) },
  })
  accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => cluster.createAccount('10')))
  const redisUrl = cluster.redis.url
  subscriber = new Redis(redisUrl)
  await subscribeSignal(
    { subscriber, log: pino({ level: 'silent' }) },
    WORKER_BEATS,
    ({ engines }) => void (engines[0]?.phase === 'ready' && (readyAtMs ??= performance.now())),
  )
  workers = await startPodWorkers({
    redisUrl,
    model: MODEL,
    files: 'demo',
    maxNumSeqs: CALLERS,
    engines,
    startEngine: async (engine) => {
      await changeFaults({ engine, dead: true, loadMs: LOAD_MS })
      await changeFaults({ engine, dead: false })
    },
  })
  release = await openRelease({
    queueUrl: redisUrl,
    busUrl: redisUrl,
    models: {
      [MODEL]: modelValues({
        family: null,
        files: 'demo',
        slots: CALLERS,
        scale: { max: 1, idleSeconds: 20 },
      }),
    },
    follow: workers.follow,
  })
  // A Deployment without `replicas` starts with one replica, which is removed like any idle one.
  await until(async () => release.watch.replicas(POOL) === 0, 240_000)
})

afterAll(async () => {
  await release.close()
  await workers.stop()
  subscriber.disconnect()
  await cluster.stop()
})

async function changeFaults(change: object) {
  const url = `${cluster.simulator.opsUrl}/faults`
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(change) })
  if (!response.ok) throw new Error(await response.text())
}

/** Sends one stream that waits. Resolves at its end with its text, and when its first token arrived. */
async function wait(index: number) {
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${accounts[index % ACCOUNTS]?.apiKey}`,
      prefer: 'wait=240',
    },
    body: JSON.stringify({
      model: MODEL,
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: `Talk ${index} [[tokens=20]]` }],
    }),
  })
  const applied = response.headers.get('preference-applied')
  let text = ''
  let firstTokenMs: number | null = null
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (/"content":"[^"]/u.test(text)) firstTokenMs ??= performance.now()
  }
  return { status: response.status, applied, text, firstTokenMs: firstTokenMs ?? Number.NaN }
}

test('twenty requests that wait for a model at zero start it, and all run once its worker is ready', async () => {
  // The worker of the first replica was ready as well.
  await until(async () => workers.removed.length === workers.started())
  readyAtMs = null
  const startedMs = performance.now()
  const answers = await Promise.all(Array.from({ length: CALLERS }, async (_, index) => await wait(index)))
  for (const { status, applied, text } of answers) {
    expect([status, applied]).toEqual([200, 'wait=240'])
    expect(text).toMatch(/^: the model is starting, a worker is expected in about \d+ s\n\n/u)
    expect(readEvents(text)).toMatchObject({ streamError: null, finishReason: 'stop', completionTokens: 21 })
  }
  const readyMs = readyAtMs ?? Number.NaN
  const firsts = answers.map(({ firstTokenMs }) => firstTokenMs - readyMs)
  const [p50, max] = [quantile(firsts, 0.5), Math.max(...firsts)].map(Math.round)
  expect(readyMs - startedMs).toBeGreaterThan(LOAD_MS)
  console.log(
    `ready ${Math.round(readyMs - startedMs)} ms after the requests; ` +
      `first token after that: p50 ${p50} ms, max ${max} ms`,
  )
  expect(max).toBeLessThanOrEqual(FIRST_TOKEN_LIMIT_MS)
  await expectBalancedBooks(cluster, accounts)
})
