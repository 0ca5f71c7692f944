import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createCountTokens, type CountTokens } from '#apps/gateway/generation/count-tokens.ts'
import { createCountTokens as createWorkerCount } from '#apps/worker/prompt/count-tokens.ts'
import { createRenderPrompt, type RenderPrompt } from '#apps/worker/prompt/render-prompt.ts'
import { ChatTemplateError, createChatRenderer, type Chat } from '#libs/chat-template/chat-renderer.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import { COUNT_LIMIT_MS } from '#libs/event-bus/token-counts.ts'
import { createControlSender, subscribeControl, type ControlSender } from '#libs/event-bus/worker-control.ts'
import { keyPrefix } from '#libs/queue-redis/keys.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { generationJob } from '../../support/generation-job.ts'
import { modelSpec } from '../../support/model-spec.ts'
import { sharedRedis } from '../../support/redis.ts'

// A gateway and a worker that count the tokens of prompts over a real bus.

const log = pino({ level: 'silent' })
const MODEL = modelSpec({ id: 'tiny', contextWindow: 512 })
const OF = { account: 'account-1', bytes: 10 }

const connections: { disconnect(): void }[] = []
const redis = openBus()
const { tokenizer, template } = await createModel(await readModelFolder('models/tiny'))
const plain = createChatRenderer(template)
const renderTiny = createRenderPrompt({
  renderer: { ...plain, render: async (chat: Chat) => plain.render(chat) },
  tokenizer,
  family: { callIds: 'opaque', effort: { off: {}, low: {}, high: {}, max: {} } },
})

const worker = randomUUID()
const gateway = randomUUID()
let render: RenderPrompt = renderTiny
let workers: string[] = []
let count: CountTokens
const sendCount = vi.fn<ControlSender['count']>()

beforeAll(async () => {
  const control = createControlSender({ redis, gateway, onNoSubscriber: () => {}, log })
  const countTokens = createWorkerCount({
    redisOf: () => redis,
    find: (model) => (model === MODEL.id ? async (...job) => await render(...job) : undefined),
    log,
  })
  const ignore = () => {}
  await subscribeControl({
    subscriber: openBus(),
    worker,
    isHeld: async () => await Promise.resolve(true),
    onStop: ignore,
    onResend: ignore,
    onAsk: ignore,
    onAcknowledge: ignore,
    onVectorsTaken: ignore,
    onHold: ignore,
    onLook: ignore,
    onCount: (named) => void countTokens(named),
    onDrain: ignore,
    onCordon: ignore,
    onUncordon: ignore,
    log,
  })
  sendCount.mockImplementation(control.count)
  count = await createCountTokens({
    bus: redis,
    subscriber: openBus(),
    gateway,
    workersOf: () => workers,
    sendCount,
    newId: randomUUID,
    random: () => 0,
    log,
  })
})
afterEach(() => {
  render = renderTiny
  workers = [worker]
})
afterAll(() => {
  for (const connection of connections) connection.disconnect()
})

function openBus(): Redis {
  const connection = openRedis({
    place: { mode: 'single', url: sharedRedis() },
    name: 'test',
    patience: 'patient',
    log,
  })
  connections.push(connection)
  return connection
}

function chat(content: string): ChatRequest {
  const { request } = generationJob()
  if (request.kind !== 'chat') throw new Error('a chat is counted')
  return { ...request, messages: [{ role: 'user', content }] }
}

const refusal = (code: string, message = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(message) })

const leftJobs = async () => await redis.keys(`${keyPrefix()}count:{${gateway}}:*`)

test('without a worker that serves the model a count is refused at once', async () => {
  workers = []
  await expect(count(MODEL, chat('Hi'), OF)).rejects.toEqual(refusal('model_unavailable', 'tiny'))
  expect(sendCount).not.toHaveBeenCalled()
})

test('counts what the worker would send to its engine', async () => {
  for (const content of ['Hi', 'word '.repeat(130)]) {
    const { ids } = await renderTiny({ request: chat(content) }, Infinity)
    expect(await count(MODEL, chat(content), OF)).toBe(ids.length)
  }
  expect(await leftJobs()).toEqual([])
})

test('a worker that is gone is passed over', async () => {
  workers = ['gone', worker]
  expect(await count(MODEL, chat('Hi'), OF)).toBeGreaterThan(0)
  workers = ['gone']
  await expect(count(MODEL, chat('Hi'), OF)).rejects.toEqual(refusal('model_unavailable'))
  await expect.poll(leftJobs).toEqual([])
})

test('the worker’s refusals are the caller’s', async () => {
  const long = chat('some words '.repeat(20_000))
  await expect(count(MODEL, long, OF)).rejects.toEqual(refusal('context_length_exceeded', '512 tokens'))
  await expect(count({ ...MODEL, id: 'other' }, chat('Hi'), OF)).rejects.toEqual(refusal('model_unavailable'))
  render = async () => {
    throw new ChatTemplateError('no tools, please')
  }
  await expect(count(MODEL, chat('Hi'), OF)).rejects.toEqual(refusal('invalid_request', 'no tools, please'))
  render = async () => {
    throw new Error('test: broken')
  }
  await expect(count(MODEL, chat('Hi'), OF)).rejects.toEqual(
    refusal('upstream_error', 'could not be counted'),
  )
})

/** Holds each count in the worker until the test lets it go on, and records which account's is begun. */
function holdCounts() {
  const begun: string[] = []
  const gate = Promise.withResolvers<void>()
  render = async (job, window) => {
    begun.push(job.request.messages.map(({ content }) => content).join(''))
    await gate.promise
    return await renderTiny(job, window)
  }
  return { begun, open: gate.resolve }
}

test('a worker counts one small and one large prompt of an account, and the accounts in turn', async () => {
  const { begun, open } = holdCounts()
  const large = 16_384
  const poor = Array.from({ length: 12 }, (_, at) => `poor ${at}`)
  const floods = poor.flatMap((account) =>
    [1, 1, large, large].map(async (bytes) => await count(MODEL, chat(account), { account, bytes })),
  )
  const settled = Promise.allSettled(floods)
  // Seven small prompts of seven accounts, and one large one.
  await expect.poll(() => begun.length).toBe(8)
  expect(new Set(begun).size).toBeGreaterThanOrEqual(7)
  const counted = count(MODEL, chat('rich'), { account: 'rich', bytes: 1 })
  await expect.poll(() => sendCount.mock.calls.some(([, { account }]) => account === 'rich')).toBe(true)
  open()
  expect(await counted).toBeGreaterThan(0)
  expect((await settled).every(({ status }) => status === 'fulfilled')).toBe(true)
  // `rich` waited for one turn of each account at most, not for all of their prompts.
  expect(begun.indexOf('rich')).toBeLessThan(8 + poor.length + 5)
  await expect.poll(leftJobs).toEqual([])
})

test('of the places of a gateway one account has a quarter, and a new account gets one of the most taken', async () => {
  const { open } = holdCounts()
  const begin = (account: string, bytes = 1) =>
    count(MODEL, chat('Hi'), { account, bytes }).then(
      () => 'counted',
      (error: unknown) => (error instanceof ApiError ? error.code : error),
    )
  const taken = ['a', 'b', 'c', 'd'].flatMap((account) => Array.from({ length: 16 }, () => begin(account)))
  expect(await begin('a')).toBe('model_busy')
  const late = begin('e')
  expect(await Promise.race(taken)).toBe('model_busy')
  open()
  expect(await late).toBe('counted')
  const outcomes = await Promise.all(taken)
  expect(outcomes.filter((outcome) => outcome === 'model_busy')).toHaveLength(1)
  // Of their bytes, one account has half.
  expect(await begin('a', 32 * 1_048_576 + 1)).toBe('model_busy')
  await expect.poll(leftJobs).toEqual([])
})

test('a count whose answer is lost ends, and leaves no job', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const sent = Promise.withResolvers<void>()
    sendCount.mockImplementationOnce(async () => {
      sent.resolve()
      return true
    })
    const lost = count(MODEL, chat('Hi'), OF).catch((error: unknown) => error)
    await sent.promise
    vi.advanceTimersByTime(COUNT_LIMIT_MS)
    expect(await lost).toEqual(refusal('model_unavailable'))
  } finally {
    vi.useRealTimers()
  }
  await expect.poll(leftJobs).toEqual([])
})
