import { randomUUIDv7 } from 'node:crypto'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, onTestFinished } from 'vitest'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { modelSpec } from '#test/support/model-spec.ts'
import { buildApp, type HttpLimits } from '#apps/gateway/app.ts'
import { createBodyThread, type BodyThread } from '#apps/gateway/preparation/body-thread.ts'
import { createPrepareBody } from '#apps/gateway/preparation/prepare-body.ts'
import type { Generate, GenerationCall, OutputEvent } from '#apps/gateway/generation/generation-call.ts'

export const KEY = 'good-key'
export const MODEL = 'org/demo'

export const AUTHORIZED = { authorization: `Bearer ${KEY}` }

/** Of a key that may use nothing but `plain`, and a model that the catalog does not have. */
export const NARROW = { authorization: 'Bearer narrow-key' }

const LIMITS: HttpLimits = {
  bodyBytes: 32 * 1_048_576,
  largeBodyBytes: 65_536,
  allBodiesBytes: 128 * 1_048_576,
  uploadMs: 60_000,
  connectionIdleMs: 600_000,
  headersAfterS: 10,
  keepAliveS: 15,
  queuedBytes: 1_048_576,
  lastReadS: 30,
}

export const USAGE = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 0 }

export const END: OutputEvent = { type: 'generation-end', finishReason: 'stop', usage: USAGE }

export const text = (value: string): OutputEvent => ({ type: 'text-delta', text: value })

const spec = modelSpec({
  id: MODEL,
  created: 1_700_000_000,
  contextWindow: 8_192,
  reasoning: true,
  defaultEffort: 'low',
})

export const CATALOG: readonly ModelSpec[] = [
  spec,
  { ...spec, id: 'plain', tools: false },
  { ...spec, id: 'vectors', kind: 'embedding', embedding: { dimensions: 8, matryoshka: true } },
]

/** A core that gives every generation these batches. */
export function always(...batches: OutputEvent[][]): Generate {
  return async function* () {
    yield* batches
  }
}

/** A core that fails every generation after these batches. */
export function failing(error: unknown, ...batches: OutputEvent[][]): Generate {
  return async function* () {
    yield* batches
    throw error
  }
}

/** A core whose generations wait for what the test feeds them. */
export function createFedCore() {
  const calls: GenerationCall[] = []
  const arrivals: ((call: GenerationCall) => void)[] = []
  let queue: OutputEvent[][] = []
  let wake = Promise.withResolvers<void>()
  const generate: Generate = async function* (call) {
    calls.push(call)
    for (const arrived of arrivals.splice(0)) arrived(call)
    call.signal.addEventListener('abort', () => wake.resolve())
    for (;;) {
      const batches = queue
      queue = []
      for (const batch of batches) {
        yield batch
        if (batch.some((event) => event.type === 'generation-end')) return
      }
      call.signal.throwIfAborted()
      if (queue.length === 0) await wake.promise
      wake = Promise.withResolvers<void>()
    }
  }
  return {
    generate,
    calls,
    /** Resolves with the next call. */
    nextCall: () => new Promise<GenerationCall>((resolve) => arrivals.push(resolve)),
    feed(...batches: OutputEvent[][]) {
      queue.push(...batches)
      wake.resolve()
    },
  }
}

/** One for all apps of a file, begun with the first large body. */
let bodyThread: BodyThread | null = null
afterAll(async () => await bodyThread?.close())

const thread: Pick<BodyThread, 'prepare'> = {
  async prepare(...work) {
    bodyThread ??= createBodyThread({
      limits: { waiting: 8, taskMs: 60_000, heapMib: 512 },
      log: pino({ level: 'silent' }),
    })
    return await bodyThread.prepare(...work)
  },
}

/** The gateway's app on a free loopback port, closed with the test. `seconds` turns its clock. */
export async function serveApp(generate: Generate, given: Partial<HttpLimits> = {}) {
  const limits = { ...LIMITS, ...given }
  const catalog = {
    list: () => CATALOG,
    find: (id: string) => CATALOG.find((model) => model.id === id) ?? null,
  }
  const tickers = new Set<() => void>()
  const registry = new Registry()
  const logged: string[] = []
  const app = buildApp({
    generate,
    authenticate: async (authorization) => {
      if (authorization === AUTHORIZED.authorization)
        return { keyId: 'key-1', accountId: 'account-1', models: null }
      if (authorization === NARROW.authorization) {
        return { keyId: 'key-2', accountId: 'account-1', models: new Set(['plain', 'gone']) }
      }
      if (authorization === 'Bearer unchecked')
        throw new ApiError('model_unavailable', 'Nobody can check it.')
      if (authorization === 'Bearer broken') throw new Error('test: the look-up broke')
      throw new ApiError('invalid_key', 'The API key is not valid.')
    },
    catalog,
    prepareBody: createPrepareBody({ thread, largeBytes: limits.largeBodyBytes }),
    newId: randomUUIDv7,
    nowMs: Date.now,
    everySecond: (run) => {
      tickers.add(run)
      return () => tickers.delete(run)
    },
    registry,
    log: pino({ level: 'trace' }, { write: (line) => logged.push(line) }),
    limits,
  })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `${origin}/v1`
  return {
    app,
    url,
    port: Number(new URL(origin).port),
    registry,
    logged,
    tickers,
    seconds(count: number) {
      for (let second = 0; second < count; second += 1) for (const run of tickers) run()
    },
    chat: (body: unknown, init: { headers?: Record<string, string>; signal?: AbortSignal } = {}) =>
      fetch(`${url}/chat/completions`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
        headers: { ...AUTHORIZED, ...init.headers },
      }),
  }
}

export const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }
export const STREAM = { ...CHAT, stream: true }
