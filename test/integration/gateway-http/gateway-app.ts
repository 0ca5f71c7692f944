import { randomUUIDv7 } from 'node:crypto'
import { pino } from 'pino'
import { Registry } from '@prometheus-io/client'
import { onTestFinished } from 'vitest'
import { loadConfig } from '#libs/config/load-config.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { NO_TRACING } from '#libs/telemetry/tracing.ts'
import { generationCall } from '#test/support/generation-call.ts'
import { modelSpec } from '#test/support/model-spec.ts'
import { buildApp, type HttpLimits } from '#apps/gateway/app.ts'
import { GatewayConfig, toBodyThreadLimits, toHttpLimits } from '#apps/gateway/config.ts'
import { createBodyThreads } from '#apps/gateway/endpoints/body-threads.ts'
import type { PrepareOnThread } from '#apps/gateway/endpoints/prepare-request.ts'
import type {
  Generate,
  GenerationCall,
  OutputEvent,
} from '#apps/gateway/generation/request/generation-call.ts'
import { createOwnAccount } from './own-account.ts'

export const KEY = 'good-key'
export const MODEL = 'org/demo'

export const AUTHORIZED = { authorization: `Bearer ${KEY}` }

/** A key that may use only the model `plain` and a model that the catalog lacks. */
export const NARROW = { authorization: 'Bearer narrow-key' }

/** A management key of the account. */
export const MANAGES = { authorization: 'Bearer mr_manage_good' }

/** The gateway's defaults, but with a keep-alive interval that differs from the delay of the headers. */
const LIMITS: HttpLimits = {
  ...toHttpLimits(
    loadConfig(GatewayConfig, {
      QUEUE_REDIS_URL: 'redis://127.0.0.1:6379',
      BUS_REDIS_URL: 'redis://127.0.0.1:6379',
      BILLING_ADDRESS: '127.0.0.1:50090',
    }),
  ),
  keepAliveS: 15,
  // High, because tests of refusals send hundreds of refused bodies per second.
  refusedBodiesPerS: 1_000_000,
}

export const USAGE = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 0 }

/** The usage before the first output. */
const PROMPT = { ...USAGE, completionTokens: 0 }

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

/** Returns a core whose generations send these batches. */
export function always(...batches: OutputEvent[][]): Generate {
  return async (call, send) => {
    call.onPrompt?.(PROMPT)
    batches.forEach((batch) => send(batch))
  }
}

/** Returns a core whose generations fail after these batches. */
export function failing(error: unknown, ...batches: OutputEvent[][]): Generate {
  return async (call, send) => {
    call.onPrompt?.(PROMPT)
    batches.forEach((batch) => send(batch))
    throw error
  }
}

/** Creates a core whose generations send the batches that the test feeds them. */
export function createFedCore() {
  const calls: GenerationCall[] = []
  const arrivals: ((call: GenerationCall) => void)[] = []
  let queue: OutputEvent[][] = []
  let wake = Promise.withResolvers<void>()
  const generate: Generate = async (call, send) => {
    calls.push(call)
    call.onPrompt?.(PROMPT)
    for (const arrived of arrivals.splice(0)) arrived(call)
    call.signal.addEventListener('abort', () => wake.resolve())
    for (;;) {
      const batches = queue
      queue = []
      for (const batch of batches) {
        send(batch)
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

/**
 * The threads of all apps of this process, started at the first large body. They end with the process: files share this
 * module, and a hook in it would run only after the first file.
 */
let bodyThreads: ReturnType<typeof createBodyThreads> | null = null

const prepareOnThread: PrepareOnThread = async (...work) => {
  bodyThreads ??= createBodyThreads({
    limits: toBodyThreadLimits({ BODY_PREPARATION_MS: 60_000 }),
    log: pino({ level: 'silent' }),
  })
  return await bodyThreads.prepareOnThread(...work)
}

type Replaced = Partial<
  Pick<
    Parameters<typeof buildApp>[0],
    | 'authenticate'
    | 'authenticateManager'
    | 'askAccount'
    | 'nowMs'
    | 'wallClockMs'
    | 'allowedOrigins'
    | 'takesWork'
  >
>

/**
 * Starts the gateway's app on a free loopback port and closes it after the test. `seconds` advances its clock.
 * `replaced` has the parts that a test uses in place of the fake ones.
 */
export async function serveApp(generate: Generate, given: Partial<HttpLimits> = {}, replaced: Replaced = {}) {
  const limits = { ...LIMITS, ...given }
  const catalog = {
    list: () => CATALOG,
    find: (id: string) => CATALOG.find((model) => model.id === id) ?? null,
  }
  const tickers = new Set<() => void>()
  const registry = new Registry()
  const own = createOwnAccount()
  const logged: string[] = []
  const { app, drain } = buildApp({
    generate,
    // A count fails as a generation of this core does.
    async countTokens(model, request) {
      await generate(generationCall({ model, request }), () => {})
      return 7
    },
    authenticate: async (authorization) => {
      if (authorization === AUTHORIZED.authorization)
        return { keyId: 'key-1', accountId: 'account-1', weight: 1, models: null, shortage: null }
      if (authorization === NARROW.authorization) {
        return {
          keyId: 'key-2',
          accountId: 'account-1',
          weight: 1,
          models: new Set(['plain', 'gone']),
          shortage: null,
        }
      }
      if (authorization === 'Bearer unchecked') throw new ApiError('model_unavailable', 'Billing is down.')
      if (authorization === 'Bearer broken') throw new Error('test: the look-up broke')
      throw new ApiError('invalid_key', 'The API key is not valid.')
    },
    async authenticateManager(authorization) {
      if (authorization === MANAGES.authorization) {
        return { managementKeyId: 'manager-1', accountId: 'account-1' }
      }
      throw new ApiError('invalid_key', 'The API key is not valid.')
    },
    catalog,
    callFormatOf: (model) => (model === MODEL ? 'qwen3-coder' : null),
    askAccount: own.askAccount,
    prepareOnThread,
    hasSeats: () => true,
    reasoningSecrets: ['only-for-tests-of-the-interface-secret'],
    newId: randomUUIDv7,
    nowMs: () => performance.now(),
    wallClockMs: Date.now,
    everySecond: (run) => {
      tickers.add(run)
      return () => tickers.delete(run)
    },
    registry,
    tracing: NO_TRACING,
    log: pino({ level: 'trace' }, { write: (line) => logged.push(line) }),
    limits,
    hasAccountPage: true,
    allowedOrigins: [],
    takesWork: () => true,
    ...replaced,
  })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `${origin}/v1`
  return {
    app,
    own,
    drain,
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
