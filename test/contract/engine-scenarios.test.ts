import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { casesOf, isScenario, NEEDS_SIMULATOR, type ScenarioCase } from './cases.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { abort, fillEngine, health, loadOf, stopFilling, untilIdle, untilLoad } from './engine-state.ts'
import { cachedAsRecorded } from './prefix-cache.ts'
import { callGenerate, collect, reply, service, toResponses } from './raw-calls.ts'
import { readRecording as read, type Recording } from './recordings.ts'
import { fromRecording, toStructure, withoutTokens } from './structure.ts'
import { engineAddress, LIVE_TARGETS, type Target } from './targets.ts'

const N_REFUSED = { code: 'INVALID_ARGUMENT', details: 'n > 1 is not supported by this engine' }
const DEAD = 'EngineCore encountered an issue. See stack trace (above) for the root cause.'

let target: Target
let client: Transport
/** The simulated engine; null for a real engine, which these tests cannot kill. */
let under: EngineUnderTest | null = null

async function use(overrides: Parameters<typeof startEngineUnderTest>[0] = {}): Promise<EngineUnderTest> {
  await under?.close()
  const { servicerVersion, transport } = target
  under = await startEngineUnderTest({ servicerVersion, ...overrides }, { transport })
  client = under.client
  return under
}

function simulator(): EngineUnderTest {
  if (under === null) throw new Error('only a simulator can be controlled')
  return under
}

const readRecording = (name: string): Recording => read(target.servicerVersion, name)
const reportsCapacity = () => target.servicerVersion === '0.32.0+0.14.1'

const asCached = async (name: string) =>
  await cachedAsRecorded(name, { client, servicerVersion: target.servicerVersion })

type Scenario = (name: ScenarioCase) => Promise<void>

const scenarios: Readonly<Record<ScenarioCase, Scenario>> = {
  'abort-explicit-stream': abortAfterFiveResponses,
  async 'abort-explicit-n2'(name) {
    if (under === null) return await abortAfterFiveResponses(name)
    expect(await collect(callGenerate(client, request(name)))).toMatchObject({ ending: N_REFUSED })
  },

  async 'abort-explicit-unary'(name) {
    const call = collect(callGenerate(client, request(name)))
    // The first step is done, so the first token exists.
    await untilLoad(client, (load) => load.numRunningReqs === 1 && load.tokenUsage > 0)
    await abort(client, ['a-3'])
    const { responses, ending } = toResponses(await call)
    expect(ending.code).toBe('OK')
    expect(responses).toHaveLength(1)
    expect(responses[0]?.ids.length).toBeGreaterThan(0)
    expect(withoutTokens(responses)).toEqual(withoutTokens(readRecording(name).responses.map(fromRecording)))
    await untilIdle(client)
  },

  'abort-explicit-while-queued': abortWhileQueued,
  'abort-explicit-while-queued-unary': abortWhileQueued,

  async 'backpressure-slow-reader'(name) {
    // The answer must be larger than in the recording, because our flow-control window is larger than the recorded
    // client's. A real engine adds logprobs, the simulator adds tokens.
    if (under !== null) await use({ maxModelLen: 16_384, speed: 0 })
    const more =
      under === null ? { max_tokens: 2_000, logprobs: 20 } : { max_tokens: 10_000, logprobs: undefined }
    const { sampling_params: params, ...rest } = Object(request(name))
    const call = callGenerate(client, { ...rest, sampling_params: { ...params, ...more } })
    const { promise: paused, resolve: pause } = Promise.withResolvers<void>()
    const reading = collect(call, (_, count) => {
      if (count !== 5) return
      call.pause()
      pause()
    })
    await paused
    // The engine finishes although the client does not read.
    await untilIdle(client)
    call.resume()
    const { responses, ending } = toResponses(await reading)
    expect(ending.code).toBe('OK')
    const [choice] = toStructure(responses).choices
    expect(choice).toMatchObject({
      tokens: more.max_tokens,
      finishReason: 'length',
      completeRepeatsLastChunk: true,
    })
    expect(choice).toMatchObject({ countsAreDeltas: true, emptyChunks: 0 })
    expect(Math.max(...responses.map((response) => response.ids.length))).toBeGreaterThan(100)
  },

  'cache-0-first': asCached,
  'cache-1-second': asCached,
  'cache-2-longer': asCached,
  'cache-3-exact-5-blocks': asCached,
  'cache-4-exact-5-blocks-again': asCached,
  'cache-5-shorter-than-block': asCached,
  'cache-6-after-flush': asCached,

  async 'cancel-client'(name) {
    const call = callGenerate(client, request(name))
    const { ending } = await collect(call, (_, count) => count === 5 && call.cancel())
    expect(ending.code).toBe('CANCELLED')
    await untilIdle(client)
  },

  async 'cancel-client-unary'(name) {
    const call = callGenerate(client, request(name))
    const ending = collect(call)
    await untilLoad(client, (load) => load.numRunningReqs === 1)
    call.cancel()
    expect((await ending).ending.code).toBe('CANCELLED')
    await untilIdle(client)
  },

  async 'cancel-client-while-queued'(name) {
    const fillers = fillEngine(client)
    await untilLoad(client, (load) => load.numRunningReqs === 8)
    const call = callGenerate(client, request(name))
    const ending = collect(call)
    await untilLoad(client, (load) => load.numWaitingReqs === 1)
    call.cancel()
    expect((await ending).ending.code).toBe('CANCELLED')
    await untilLoad(client, (load) => load.numWaitingReqs === 0 && load.numTotalReqs <= 8)
    await stopFilling(client, fillers)
  },

  async 'cancel-deadline'(name) {
    const { messages, ending } = await collect(callGenerate(client, request(name), { timeoutMs: 500 }))
    expect(ending.code).toBe(readRecording(name).status.code)
    expect(messages.length).toBeGreaterThan(0)
    await untilIdle(client)
  },

  async 'concurrency-max-seqs-plus-3'(name) {
    const firstTokens: number[] = []
    // On a small machine a real engine writes the recorded number of tokens before its load is read.
    const tokens = under === null ? 1_000 : 150
    const { sampling_params: params, ...rest } = Object(request(name))
    const calls = Array.from({ length: 11 }, async (_, i) => {
      const tokenized = { input_ids: Array.from({ length: 40 }, (_, j) => 100 + ((i * 7 + j) % 1_000)) }
      const sampling = { ...params, max_tokens: tokens }
      const asked = { ...rest, sampling_params: sampling, request_id: `cc-${i}`, tokenized }
      const call = callGenerate(client, asked)
      return toResponses(await collect(call, (_, count) => count === 1 && firstTokens.push(i)))
    })
    await untilLoad(client, (load) => load.numRunningReqs === 8 && load.numWaitingReqs === 3)
    const results = await Promise.all(calls)
    // The first eight run together. The other three start in order of arrival, each when a slot is free.
    expect(firstTokens.slice(0, 8).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(firstTokens.slice(8)).toEqual([8, 9, 10])
    for (const { responses } of results) {
      expect(toStructure(responses).choices[0]).toMatchObject({ tokens, finishReason: 'length' })
    }
  },

  async 'duplicate-request-id'(name) {
    const recorded = readRecording(name).responses.map(fromRecording)
    const calls = [1, 2].map(() => collect(callGenerate(client, request(name))))
    for (const result of await Promise.all(calls)) {
      const { responses, ending } = toResponses(result)
      expect(ending.code).toBe('OK')
      expect(withoutTokens(responses.slice(-2))).toEqual(withoutTokens(recorded.slice(0, 2)))
    }
  },

  async 'duplicate-request-id-abort'(name) {
    const recorded = readRecording(name).responses.map(fromRecording)
    const calls = [1, 2].map(() => collect(callGenerate(client, request(name))))
    await untilLoad(client, (load) => load.numRunningReqs === 2)
    await abort(client, ['dup2'])
    for (const result of await Promise.all(calls)) {
      const { responses, ending } = toResponses(result)
      expect(ending.code).toBe('OK')
      expect(toStructure(responses.slice(-2))).toEqual(toStructure(recorded.slice(0, 2)))
    }
  },

  async 'hang-engine-core-stopped-4s'(name) {
    const { promise: hanging, resolve: hang } = Promise.withResolvers<number>()
    const reading = collect(callGenerate(client, request(name)), (_, count) => {
      if (count === 20)
        void simulator()
          .engine.changeFaults({ hangs: true })
          .then(() => hang(count))
    })
    await hanging
    expect((await loadOf(client)).numRunningReqs).toBe(1)
    expect(await health(client)).toEqual({ healthy: true, message: 'Health' })
    // The only sign of a hang, and only with newer servicers: the throughput of the last two seconds becomes 0.
    await untilLoad(client, (load) => load.genThroughput === 0 && load.numRunningReqs === 1)
    await simulator().engine.changeFaults({ hangs: false })
    const { responses, ending } = toResponses(await reading)
    expect(ending.code).toBe('OK')
    expect(toStructure(responses).choices[0]).toMatchObject({ tokens: 400, finishReason: 'length' })
  },

  'sigkill-engine-core-stream': async (name) => killedMidway(name),
  'sigkill-engine-core-unary': async (name) => killedMidway(name),

  async 'sigkill-worker'(name) {
    const { engine } = await use({ kind: 'embedding' })
    await engine.changeFaults({ dead: true })
    expect(await health(client)).toEqual(readRecording(name).probes?.[0]?.['HealthCheck'])
    const embedding = await reply(client, service.Embed, { tokenized: { inputIds: [1, 2, 3] } })
    expect(embedding.ending).toEqual({ code: 'INTERNAL', details: DEAD })
  },

  async 'sigterm-long0'(name) {
    const { status } = readRecording(name)
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const reading = collect(callGenerate(client, { ...request(name) }), () => begin())
    await begun
    const stopped = simulator().engine.stop(100)
    const late = await reply(simulator().connect(), service.HealthCheck, {})
    expect(late.ending.code).toBe('UNAVAILABLE')
    const { ending } = await reading
    expect(ending).toEqual({ code: status.code, details: status.details })
    await stopped
  },

  async 'sigterm-short'(name) {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const reading = collect(callGenerate(client, request(name)), () => begin())
    await begun
    const stopped = simulator().engine.stop(20_000)
    const { responses, ending } = toResponses(await reading)
    expect(ending.code).toBe('OK')
    expect(toStructure(responses).choices[0]).toMatchObject({ tokens: 150, finishReason: 'length' })
    await stopped
  },

  async 'unary-flush-cache-busy'(name) {
    const fillers = fillEngine(client)
    await untilLoad(client, (load) => load.numRunningReqs > 0)
    const { response } = await reply(client, service.FlushCache, {})
    expect(response).toEqual({ success: false, message: readRecording(name).responses[0]?.body?.['message'] })
    await stopFilling(client, fillers)
  },

  async 'unary-get-loads-after-cache'(name) {
    await collect(callGenerate(client, request('cache-0-first')))
    await collect(callGenerate(client, request('cache-1-second')))
    await untilIdle(client)
    const load = await loadOf(client)
    // Cached blocks that no running request needs do not count as used.
    expect(readRecording(name).responses[0]?.body).toMatchObject({
      loads: [{ num_used_tokens: 0, token_usage: 0 }],
    })
    expect(load).toMatchObject({ numUsedTokens: 0, tokenUsage: 0 })
    expect(load.maxTotalNumTokens).toBe(reportsCapacity() ? 1_048_576 : 0)
    expect(load.cacheHitRate > 0).toBe(reportsCapacity())
  },
}

describe.each(LIVE_TARGETS.map((each) => [each.name, each] as const))('%s', (_, given) => {
  const cases = casesOf(given.servicerVersion, 'scenarios').map(([name]) => name)

  beforeEach(async () => {
    target = given
    if (target.kind === 'simulator') {
      await use()
    } else {
      client = TRANSPORTS[target.transport]({ address: engineAddress() })
      await untilIdle(client)
      await reply(client, service.FlushCache, {})
    }
  })

  afterEach(async () => {
    if (under === null) client.close()
    await under?.close()
    under = null
  })

  test('there are cases', () => {
    expect(cases.length).toBeGreaterThan(20)
  })

  test.for(cases)('%s', async (name, context) => {
    expect.hasAssertions()
    if (!isScenario(name)) throw new Error(`${name} has no test`)
    if (under === null && NEEDS_SIMULATOR.has(name)) return context.skip('it would kill the engine')
    if (under === null && name.startsWith('cache-') && !reportsCapacity()) {
      return context.skip('this servicer cannot forget what earlier runs have left in its cache')
    }
    await scenarios[name](name)
  })
})

async function abortAfterFiveResponses(name: string): Promise<void> {
  const recording = readRecording(name)
  const reading = collect(callGenerate(client, request(name)), (_, count) => {
    if (count === 5) void abort(client, [String(recording.request?.['request_id'])])
  })
  const { responses, ending } = toResponses(await reading)
  expect(ending.code).toBe('OK')
  expect(withoutTokens(responses)).toEqual(withoutTokens(recording.responses.map(fromRecording)))
  await untilIdle(client)
}

async function abortWhileQueued(name: string): Promise<void> {
  const recording = readRecording(name)
  const fillers = fillEngine(client)
  await untilLoad(client, (load) => load.numRunningReqs === 8)
  const reading = collect(callGenerate(client, request(name)))
  await untilLoad(client, (load) => load.numWaitingReqs === 1)
  const load = await loadOf(client)
  expect(load.numTotalReqs).toBe(9)
  // The waiting prompt has 17 tokens. The cached share of the latest prompts is subtracted; in a fresh engine it is 0.
  expect(load.numWaitingUncachedTokens).toBe(reportsCapacity() ? Math.round(17 * (1 - load.cacheHitRate)) : 0)
  await abort(client, [name])
  const { responses, ending } = toResponses(await reading)
  expect(ending.code).toBe('OK')
  expect(toStructure(responses)).toEqual(toStructure(recording.responses.map(fromRecording)))
  await stopFilling(client, fillers)
}

async function killedMidway(name: string): Promise<void> {
  const recording = readRecording(name)
  const { engine } = simulator()
  await engine.changeFaults({ diesAfterTokens: 40 })
  const { messages, ending } = await collect(callGenerate(client, request(name)))
  expect(ending).toEqual({ code: recording.status.code, details: recording.status.details })
  // The chunks that were produced before the failure arrive before the status.
  const tokens = messages.reduce((sum, message) => sum + (message.chunk?.tokenIds.length ?? 0), 0)
  expect(tokens).toBe(recording.request?.['stream'] === true ? 40 : 0)

  const probe = recording.probes?.[0]
  expect(await health(client)).toEqual(probe?.['HealthCheck'])
  const again = await collect(callGenerate(client, request(name)))
  expect(again.ending).toEqual(probe?.['Generate'])
  expect((await loadOf(client)).numRunningReqs).toBe(1)
  expect((await reply(client, service.GetModelInfo, {})).ending.code).toBe('OK')
  await abort(client, ['kill-stream'])

  // This differs from the recording: a real engine stays dead. Here, clearing the fault stands for a restart.
  await engine.changeFaults({ dead: true })
  await engine.changeFaults({ dead: false, diesAfterTokens: null })
  await expect.poll(async () => await health(client)).toEqual({ healthy: true, message: 'Health' })
}

function request(name: string): object {
  return readRecording(name).request ?? {}
}
