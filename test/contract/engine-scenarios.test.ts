import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FlushCacheResponse__Output } from '#proto/types/smg/grpc/common/FlushCacheResponse.ts'
import type { GenerateResponse__Output } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import type { VllmEngineClient } from '#proto/types/vllm/grpc/engine/VllmEngine.ts'
import {
  callGenerate,
  collect,
  reply,
  startEngineUnderTest,
  type EngineUnderTest,
} from './engine-under-test.ts'
import { abort, fillEngine, health, loadOf, stopFilling, untilIdle, untilLoad } from './engine-state.ts'
import { readRecording, SCENARIO_CASES } from './recordings.ts'
import { fromRecording, fromWire, toStructure, type Frame } from './structure.ts'

const DEAD = 'EngineCore encountered an issue. See stack trace (above) for the root cause.'

let under: EngineUnderTest
let client: VllmEngineClient

async function use(overrides: Parameters<typeof startEngineUnderTest>[0] = {}): Promise<void> {
  await under.close()
  under = await startEngineUnderTest(overrides)
  client = under.client
}

beforeEach(async () => {
  under = await startEngineUnderTest()
  client = under.client
})

afterEach(async () => {
  await under.close()
})

type Scenario = (name: (typeof SCENARIO_CASES)[number]) => Promise<void>

const scenarios: Readonly<Record<(typeof SCENARIO_CASES)[number], Scenario>> = {
  'abort-explicit-stream': abortAfterFiveFrames,
  'abort-explicit-n2': abortAfterFiveFrames,

  async 'abort-explicit-unary'(name) {
    const recording = readRecording(name)
    const call = collect(callGenerate(client, request(name)))
    await untilLoad(client, (load) => load.genThroughput > 10)
    await abort(client, ['a-3'])
    const { frames, ending } = toFrames(await call)
    expect(ending.code).toBe('OK')
    expect(frames).toHaveLength(1)
    expect(frames[0]?.ids.length).toBeGreaterThan(0)
    expect(withoutTokens(frames)).toEqual(withoutTokens(recording.frames.map(fromRecording)))
    await untilIdle(client)
  },

  'abort-explicit-while-queued': abortWhileQueued,
  'abort-explicit-while-queued-unary': abortWhileQueued,

  async 'backpressure-slow-reader'(name) {
    const slow = under.connect({ 'grpc-node.flow_control_window': 2_048 })
    const call = callGenerate(slow, request(name))
    const { promise: paused, resolve: pause } = Promise.withResolvers<void>()
    const reading = collect(call, (_, count) => {
      if (count !== 5) return
      call.pause()
      pause()
    })
    await paused
    // The engine does not wait for the reader.
    await untilIdle(client)
    call.resume()
    const { frames, ending } = toFrames(await reading)
    expect(ending.code).toBe('OK')
    const [choice] = toStructure(frames).choices
    expect(choice).toMatchObject({ tokens: 1_200, finishReason: 'length', completeRepeatsLastChunk: true })
    expect(choice).toMatchObject({ countsAreDeltas: true, emptyChunks: 0 })
    expect(Math.max(...frames.map((frame) => frame.ids.length))).toBeGreaterThan(100)
  },

  'cache-0-first': cachedAsRecorded,
  'cache-1-second': cachedAsRecorded,
  'cache-2-longer': cachedAsRecorded,
  'cache-3-exact-5-blocks': cachedAsRecorded,
  'cache-4-exact-5-blocks-again': cachedAsRecorded,
  'cache-5-shorter-than-block': cachedAsRecorded,
  'cache-6-after-flush': cachedAsRecorded,

  'cancel-client': async (name) => cancelledMidway(name, 5),

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
    await untilLoad(client, (load) => load.numWaitingReqs === 0 && load.numRunningReqs === 8)
    await stopFilling(client, fillers)
  },

  async 'cancel-deadline'(name) {
    const { messages, ending } = await collect(
      callGenerate(client, request(name), { deadline: Date.now() + 200 }),
    )
    expect(ending.code).toBe(readRecording(name).status.code)
    expect(messages.length).toBeGreaterThan(0)
    await untilIdle(client)
  },

  async 'concurrency-max-seqs-plus-3'(name) {
    const firstTokens: number[] = []
    const waits: number[] = []
    const calls = Array.from({ length: 11 }, async (_, i) => {
      const ids = Array.from({ length: 40 }, (_, j) => 100 + ((i * 7 + j) % 1_000))
      const call = callGenerate(client, {
        ...request(name),
        request_id: `cc-${i}`,
        tokenized: { input_ids: ids },
      })
      const result = await collect(call, (_, count) => {
        if (count !== 1) return
        firstTokens.push(i)
        waits.push(under.engine.core().load().waiting)
      })
      return toFrames(result)
    })
    const results = await Promise.all(calls)
    // The first eight run together, the other three start when a place is free, in order of arrival.
    expect(firstTokens).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(waits.slice(0, 8).every((waiting) => waiting === 3)).toBe(true)
    for (const { frames } of results) {
      expect(toStructure(frames).choices[0]).toMatchObject({ tokens: 150, finishReason: 'length' })
    }
  },

  async 'duplicate-request-id'(name) {
    const recorded = readRecording(name).frames.map(fromRecording)
    const calls = [1, 2].map(() => collect(callGenerate(client, request(name))))
    for (const result of await Promise.all(calls)) {
      const { frames, ending } = toFrames(result)
      expect(ending.code).toBe('OK')
      expect(withoutTokens(frames.slice(-2))).toEqual(withoutTokens(recorded.slice(0, 2)))
    }
  },

  async 'duplicate-request-id-abort'(name) {
    const recorded = readRecording(name).frames.map(fromRecording)
    const calls = [1, 2].map(() => collect(callGenerate(client, request(name))))
    await untilLoad(client, (load) => load.numRunningReqs === 2)
    await abort(client, ['dup2'])
    for (const result of await Promise.all(calls)) {
      const { frames, ending } = toFrames(result)
      expect(ending.code).toBe('OK')
      expect(toStructure(frames.slice(-2))).toEqual(toStructure(recorded.slice(0, 2)))
    }
  },

  async 'hang-engine-core-stopped-4s'(name) {
    const { promise: hanging, resolve: hang } = Promise.withResolvers<number>()
    const reading = collect(callGenerate(client, request(name)), (_, count) => {
      if (count === 20) void under.engine.changeFaults({ hangs: true }).then(() => hang(count))
    })
    await hanging
    const frozen = await loadOf(client)
    expect(frozen.numRunningReqs).toBe(1)
    expect(await health(client)).toEqual({ healthy: true, message: 'Health' })
    // The one sign of a hang: throughput is a window of two seconds and runs empty.
    await untilLoad(client, (load) => load.genThroughput === 0 && load.numRunningReqs === 1)
    await under.engine.changeFaults({ hangs: false })
    const { frames, ending } = toFrames(await reading)
    expect(ending.code).toBe('OK')
    expect(toStructure(frames).choices[0]).toMatchObject({ tokens: 400, finishReason: 'length' })
  },

  'sigkill-engine-core-stream': async (name) => killedMidway(name),
  'sigkill-engine-core-unary': async (name) => killedMidway(name),

  async 'sigkill-worker'(name) {
    await use({ kind: 'embedding' })
    await under.engine.changeFaults({ dead: true })
    expect(await health(client)).toEqual(readRecording(name).probes?.[0]?.['HealthCheck'])
    const embedding = await reply(client.embed.bind(client), { tokenized: { inputIds: [1, 2, 3] } })
    expect(embedding.ending).toEqual({ code: 'INTERNAL', details: DEAD })
  },

  async 'sigterm-long0'(name) {
    const { status } = readRecording(name)
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const reading = collect(callGenerate(client, { ...request(name) }), () => begin())
    await begun
    const stopped = under.engine.stop(100)
    const late = await reply(under.connect().healthCheck.bind(under.connect()), {})
    expect(late.ending.code).toBe('UNAVAILABLE')
    const { ending } = await reading
    expect(ending).toEqual({ code: status.code, details: status.details })
    await stopped
  },

  async 'sigterm-short'(name) {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const reading = collect(callGenerate(client, request(name)), () => begin())
    await begun
    const stopped = under.engine.stop(20_000)
    const { frames, ending } = toFrames(await reading)
    expect(ending.code).toBe('OK')
    expect(toStructure(frames).choices[0]).toMatchObject({ tokens: 150, finishReason: 'length' })
    await stopped
  },

  async 'unary-flush-cache-busy'(name) {
    const fillers = fillEngine(client)
    await untilLoad(client, (load) => load.numRunningReqs > 0)
    const { response } = await reply<object, FlushCacheResponse__Output>(client.flushCache.bind(client), {})
    expect(response).toEqual({ success: false, message: readRecording(name).frames[0]?.body?.['message'] })
    await stopFilling(client, fillers)
  },

  async 'unary-get-loads-after-cache'(name) {
    await collect(callGenerate(client, request('cache-0-first')))
    await collect(callGenerate(client, request('cache-1-second')))
    await untilIdle(client)
    const load = await loadOf(client)
    // Blocks that stay only because a later prompt may find them do not count as used.
    expect(readRecording(name).frames[0]?.body).toMatchObject({
      loads: [{ num_used_tokens: 0, token_usage: 0 }],
    })
    expect(load).toMatchObject({ numUsedTokens: 0, tokenUsage: 0, maxTotalNumTokens: 1_048_576 })
    expect(load.cacheHitRate).toBeGreaterThan(0)
  },
}

describe('what happens beside a call goes as on the recorded engine', () => {
  test.each(SCENARIO_CASES)('%s', async (name) => {
    expect.hasAssertions()
    await scenarios[name](name)
  })
})

async function abortAfterFiveFrames(name: string): Promise<void> {
  const recording = readRecording(name)
  const reading = collect(callGenerate(client, request(name)), (_, count) => {
    if (count === 5) void abort(client, [String(recording.request?.['request_id'])])
  })
  const { frames, ending } = toFrames(await reading)
  expect(ending.code).toBe('OK')
  expect(withoutTokens(frames)).toEqual(withoutTokens(recording.frames.map(fromRecording)))
  await untilIdle(client)
}

async function abortWhileQueued(name: string): Promise<void> {
  const recording = readRecording(name)
  const fillers = fillEngine(client)
  await untilLoad(client, (load) => load.numRunningReqs === 8)
  const reading = collect(callGenerate(client, request(name)))
  await untilLoad(client, (load) => load.numWaitingReqs === 1)
  expect(await loadOf(client)).toMatchObject({ numTotalReqs: 9, numWaitingUncachedTokens: 17 })
  await abort(client, [name])
  const { frames, ending } = toFrames(await reading)
  expect(ending.code).toBe('OK')
  expect(toStructure(frames)).toEqual(toStructure(recording.frames.map(fromRecording)))
  await stopFilling(client, fillers)
}

/** The cases build on each other, so each runs those before it. */
async function cachedAsRecorded(name: string): Promise<void> {
  const before = SCENARIO_CASES.filter((other) => other.startsWith('cache-') && other <= name)
  for (const each of before) {
    if (each === 'cache-6-after-flush') {
      await untilIdle(client)
      const { response } = await reply<object, FlushCacheResponse__Output>(client.flushCache.bind(client), {})
      expect(response?.success).toBe(true)
    }
    const { frames } = toFrames(await collect(callGenerate(client, request(each))))
    const recorded = toStructure(readRecording(each).frames.map(fromRecording))
    expect({ case: each, ...toStructure(frames) }).toEqual({ case: each, ...recorded })
  }
}

async function cancelledMidway(name: string, frames: number): Promise<void> {
  const call = callGenerate(client, request(name))
  const { ending } = await collect(call, (_, count) => {
    if (count === frames) call.cancel()
  })
  expect(ending.code).toBe('CANCELLED')
  await untilIdle(client)
}

async function killedMidway(name: string): Promise<void> {
  const recording = readRecording(name)
  await under.engine.changeFaults({ diesAfterTokens: 40 })
  const { messages, ending } = await collect(callGenerate(client, request(name)))
  expect(ending).toEqual({ code: recording.status.code, details: recording.status.details })
  // Chunks that were produced before arrive before the status.
  const tokens = messages.reduce((sum, message) => sum + (message.chunk?.tokenIds.length ?? 0), 0)
  expect(tokens).toBe(recording.request?.['stream'] === true ? 40 : 0)

  const probe = recording.probes?.[0]
  expect(await health(client)).toEqual(probe?.['HealthCheck'])
  const again = await collect(callGenerate(client, request(name)))
  expect(again.ending).toEqual(probe?.['Generate'])
  expect((await loadOf(client)).numRunningReqs).toBe(1)
  expect((await reply(client.getModelInfo.bind(client), {})).ending.code).toBe('OK')
  await abort(client, ['kill-stream'])

  // Not as recorded: a real engine never comes back; here clearing the fault stands for starting it again.
  await under.engine.changeFaults({ dead: true })
  await under.engine.changeFaults({ dead: false, diesAfterTokens: null })
  await expect.poll(async () => await health(client)).toEqual({ healthy: true, message: 'Health' })
}

function request(name: string): object {
  return readRecording(name).request ?? {}
}

function toFrames({ messages, ending }: Awaited<ReturnType<typeof collect<GenerateResponse__Output>>>) {
  return { frames: messages.map(fromWire), ending }
}

/** How many tokens there were is chance here. */
function withoutTokens(frames: readonly Frame[]) {
  return toStructure(frames).choices.map(({ tokens: _tokens, ...choice }) => choice)
}
