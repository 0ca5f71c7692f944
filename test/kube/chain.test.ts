import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat, type ChatAnswer } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { freePort } from '../support/free-port.ts'
import { priceTokens } from '../support/price-tokens.ts'
import type { StreamedAnswer } from '../support/sse-events.ts'
import { until } from '../support/until.ts'
import { sumMetric } from './cluster-scaler.ts'
import { openRelease, type Release } from './open-release.ts'
import { startPodWorkers, wasBusy, type PodWorkers } from './pod-workers.ts'
import { modelValues, poolName } from './release-values.ts'
import { repetitions } from './settings.ts'

// Gateway, billing, workers, scalers, KEDA and the control plane are real processes. The test takes the kubelet's part:
// it starts and stops the workers' processes. The engines are simulated.

const MODEL = 'demo-chat'
const POOL = poolName(MODEL)
/** A model for whose class there is no GPU. */
const STARVED = 'demo-reasoning'
/** A model without a GPU for this long counts as starved. */
const STARVED_AFTER_MS = 600_000
const SLOTS = 4
const MOST_PODS = 5
const LOAD_S = repetitions('KUBE_CHAIN_SECONDS', 300)
const WAVE_S = 150
/** Requests per second at the top of a wave, and at its bottom. */
const [MOST_PER_S, LEAST_PER_S] = [2, 0.1]
/** Takes about 6 s at 10 tokens per second. */
const CONTENT = 'Talk [[tokens=60]]'
const TOKENS = 61
const STEP_MS = 100
/** Five times the time that a worker needs until it serves. */
const START_S = 25
/** How often a client follows a refusal before it gives up. */
const MOST_ATTEMPTS = 20

let cluster: TestCluster
let release: Release
let workers: PodWorkers
let account: TestAccount
const completed: StreamedAnswer[] = []
/** The answers to a client of the starved model, from the first refusal that promises a worker on. */
const starvedAnswers: { status: number; retryAfterS: number; atMs: number }[] = []
const leaving = new AbortController()
let starving = Promise.resolve()

beforeAll(async () => {
  // There are more engines than pods, because a worker may still end while the next one starts.
  const engines = await Promise.all(
    Array.from({ length: 2 * MOST_PODS }, async () => `127.0.0.1:${await freePort()}`),
  )
  const engine = { model: MODEL, files: 'demo', maxNumSeqs: SLOTS, stepMs: STEP_MS }
  cluster = await startCluster({
    workers: [],
    simulatorEnv: { SIMULATOR_ENGINES: JSON.stringify(engines.map((listen) => ({ ...engine, listen }))) },
  })
  account = await cluster.createAccount('100')
  const redisUrl = cluster.redis.url
  workers = await startPodWorkers({ redisUrl, model: MODEL, files: 'demo', maxNumSeqs: SLOTS, engines })
  const scale = { max: MOST_PODS, utilization: 0.8, idleSeconds: 20, startSeconds: START_S }
  release = await openRelease({
    queueUrl: redisUrl,
    busUrl: redisUrl,
    models: {
      [MODEL]: modelValues({ family: null, files: 'demo', slots: SLOTS, scale }),
      [STARVED]: modelValues({ gpu: { class: 'none', count: 1 }, scale: { ...scale, max: 1 } }),
    },
    values: { gpuClasses: { none: { nodeSelector: { 'kubernetes.io/hostname': 'none' } } } },
    scalers: 2,
    follow: workers.follow,
  })
  starving = askForStarved()
  // A Deployment without `replicas` starts with one replica, which is removed like any idle one.
  await until(async () => release.watch.replicas(POOL) === 0, 240_000)
})

afterAll(async () => {
  leaving.abort()
  await starving
  await release.close()
  await workers.stop()
  await cluster.stop()
})

const ask = async (model = MODEL) =>
  await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: CONTENT, model })

const isAnswer = (answer: ChatAnswer): answer is Extract<ChatAnswer, { text: string }> => 'text' in answer

/** Asks for the starved model repeatedly, like a client that follows retry-after, until `leaving` is aborted. */
async function askForStarved(): Promise<void> {
  while (!leaving.signal.aborted) {
    const answer = await ask(STARVED)
    if (isAnswer(answer)) throw new Error('a model without a worker answered')
    const retryAfterS = Number(answer.retryAfter)
    starvedAnswers.push({ status: answer.status, retryAfterS, atMs: performance.now() })
    await sleep(retryAfterS * 1_000, undefined, { signal: leaving.signal }).catch(() => {})
  }
}

/**
 * Asks until it gets an answer, and waits after each refusal for its retry-after. Resolves with the number of refusals.
 */
async function askPatiently(): Promise<number> {
  for (let refusals = 0; refusals < MOST_ATTEMPTS; refusals += 1) {
    const answer = await ask()
    if (isAnswer(answer)) {
      completed.push(answer)
      return refusals
    }
    if (answer.retryAfter === null) throw new Error(`HTTP ${answer.status}: ${JSON.stringify(answer.error)}`)
    await sleep(Number(answer.retryAfter) * 1_000)
  }
  throw new Error(`refused ${MOST_ATTEMPTS} times`)
}

test('the first request to a model at zero is 429, and 200 after the time that it is asked to wait', async () => {
  const refused = await ask()
  expect(refused).toMatchObject({ status: 429, error: { code: 'model_warming' } })
  const retryAfterS = isAnswer(refused) ? Number.NaN : Number(refused.retryAfter)
  expect(retryAfterS).toBeGreaterThanOrEqual(1)
  expect(retryAfterS).toBeLessThanOrEqual(59)
  await sleep(retryAfterS * 1_000)
  expect(await askPatiently()).toBe(0)
  console.log(`served after a retry-after of ${retryAfterS} s`)
})

test('under load that rises and falls every stream is whole, and only workers at rest are removed', async () => {
  const before = release.watch.rescales.length
  const asked: Promise<number>[] = []
  const startedMs = performance.now()
  const passedS = () => (performance.now() - startedMs) / 1_000
  let due = 0
  let untilS = 0
  while (untilS < LOAD_S) {
    const wave = (1 - Math.cos((2 * Math.PI * untilS) / WAVE_S)) / 2
    const nowS = passedS()
    due += (LEAST_PER_S + (MOST_PER_S - LEAST_PER_S) * wave) * (nowS - untilS)
    untilS = nowS
    for (; due >= 1; due -= 1) asked.push(askPatiently())
    await sleep(100)
  }
  const refused = (await Promise.all(asked)).reduce((sum, count) => sum + count, 0)
  const steps = release.watch.rescales.slice(before).map(({ from, to }) => to - from)
  const lower = steps.filter((step) => step < 0)
  console.log(
    `${asked.length} streams over ${LOAD_S} s, refused ${refused} times before; replicas ${steps.join(' ')}; ` +
      `${workers.started()} workers started, ${workers.removed.length} removed`,
  )
  for (const answer of completed) {
    expect(answer).toMatchObject({ streamError: null, finishReason: 'stop', completionTokens: TOKENS })
  }
  expect(completed).toHaveLength(asked.length + 1)
  expect(steps.some((step) => step > 0)).toBe(true)
  expect(lower.length).toBeGreaterThanOrEqual(Math.floor(LOAD_S / WAVE_S))
  expect(workers.removed.filter(wasBusy)).toEqual([])
  const metrics = await (await release.leader()).metrics()
  expect(sumMetric(metrics, 'millrace_scaler_unplanned_removals_total')).toBe(0)
})

test('every stream was charged once', async () => {
  await expectBalancedBooks(cluster, [account])
  const prices = demoPrices(MODEL)
  const owed = completed.reduce(
    (sum, { promptTokens: input, cachedTokens: cachedInput, completionTokens: output }) =>
      sum + priceTokens({ input, cachedInput, output }, prices),
    0n,
  )
  expect((await cluster.balance(account)).posted).toBe(100n * 1_000_000_000n - owed)
})

test('a model that finds no GPU for ten minutes is 503, and its pod goes with the last request', async () => {
  const pods = () => release.watch.pods(poolName(STARVED))
  const first = starvedAnswers.find(({ status }) => status === 429)
  await until(async () => starvedAnswers.at(-1)?.status === 503, STARVED_AFTER_MS)
  const last = starvedAnswers.findLast(({ status }) => status === 429)
  const warmingS = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 1_000
  console.log(`429 for ${warmingS.toFixed(0)} s, then 503`)
  expect(pods().filter(({ spec }) => spec.nodeName === undefined)).toHaveLength(1)
  const promised = starvedAnswers.filter(({ status }) => status === 429).map(({ retryAfterS }) => retryAfterS)
  expect(Math.min(...promised)).toBeGreaterThanOrEqual(1)
  expect(Math.max(...promised)).toBeLessThanOrEqual(59)
  expect(warmingS).toBeGreaterThan(STARVED_AFTER_MS / 1_000 - 60)

  leaving.abort()
  await starving
  const startedMs = performance.now()
  await until(async () => pods().length === 0, 300_000)
  console.log(
    `its pod is gone ${((performance.now() - startedMs) / 1_000).toFixed(0)} s after the last request`,
  )
})
