import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEngineWatch, type EngineSign } from '#apps/worker/engine-watch/watch-engine.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function setUp() {
  const state = {
    healthy: true,
    answers: true,
    running: 0,
    lost: 0,
    mayBeReady: true,
    changes: new Array<boolean>(),
  }
  const signs: EngineSign[] = []
  const watch = createEngineWatch({
    async healthCheck() {
      if (!state.answers) throw new Error('Deadline exceeded')
      return { healthy: state.healthy, message: 'Engine is not alive' }
    },
    running: () => state.running,
    silenceMs: 60_000,
    onSign: (sign) => signs.push(sign),
    mayBeReady: () => state.mayBeReady,
    onChange: (ready) => state.changes.push(ready),
    onLost: () => (state.lost += 1),
    nowMs: () => Date.now(),
    log: pino({ level: 'silent' }),
  })
  return { state, signs, watch, pass: async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms)) }
}

test('an engine is ready once it is healthy, and no longer when it dies', async () => {
  const { state, watch, pass } = setUp()
  expect(watch.ready()).toBe(false)
  await pass(0)
  expect(watch.ready()).toBe(true)
  state.healthy = false
  await pass(1_000)
  expect(watch.ready()).toBe(false)
  expect(state.lost).toBe(1)
  state.healthy = true
  await pass(1_000)
  expect(state.changes).toEqual([true, false, true])
  watch.stop()
})

test('an engine that runs and says nothing hangs, however healthy', async () => {
  const { state, watch, pass } = setUp()
  state.running = 3
  await pass(50_000)
  watch.tokenSeen()
  await pass(59_000)
  expect(watch.ready()).toBe(true)
  await pass(3_000)
  expect(watch.ready()).toBe(false)
  expect(state.lost).toBe(1)
  watch.stop()
})

test('one health check without an answer is not yet a dead engine, two are', async () => {
  const { state, watch, pass } = setUp()
  await pass(0)
  state.answers = false
  await pass(1_000)
  expect([watch.ready(), state.lost]).toEqual([true, 0])
  state.answers = true
  await pass(1_000)
  state.answers = false
  await pass(1_000)
  expect(watch.ready()).toBe(true)
  await pass(1_000)
  expect([watch.ready(), state.lost]).toEqual([false, 1])
  watch.stop()
})

test('an idle engine may be silent for ever', async () => {
  const { state, watch, pass } = setUp()
  await pass(600_000)
  expect(watch.ready()).toBe(true)
  expect(state.lost).toBe(0)
  watch.stop()
})

test('five failures in a row rest the worker, a token between them does not', async () => {
  const { watch, pass } = setUp()
  await pass(0)
  for (let failure = 0; failure < 4; failure += 1) watch.failureSeen()
  watch.tokenSeen()
  watch.failureSeen()
  expect(watch.ready()).toBe(true)
  for (let failure = 0; failure < 4; failure += 1) watch.failureSeen()
  expect(watch.ready()).toBe(false)
  await pass(9_000)
  expect(watch.ready()).toBe(false)
  await pass(2_000)
  expect(watch.ready()).toBe(true)
  watch.stop()
})

test('after a failure without output it takes nothing for a second, so that another engine tries first', async () => {
  const { watch, pass } = setUp()
  await pass(0)
  watch.failureSeen()
  expect([watch.ready(), watch.mayPull()]).toEqual([true, false])
  await pass(1_000)
  expect(watch.mayPull()).toBe(true)
  watch.stop()
})

test('a call that reports a dead engine loses it at once', async () => {
  const { state, watch, pass } = setUp()
  await pass(0)
  await watch.callFailed('dead')
  expect([watch.ready(), state.lost]).toEqual([false, 1])
  await watch.callFailed('dead')
  expect(state.lost).toBe(1)
  watch.stop()
})

test('a call that failed with its connection, and a check without an answer, are a lost engine', async () => {
  const { state, watch, pass } = setUp()
  await pass(0)
  state.answers = false
  await Promise.all([watch.callFailed('unavailable'), watch.callFailed('unavailable')])
  expect([watch.ready(), state.lost]).toEqual([false, 1])
  watch.stop()
})

test.each(['unavailable', 'failed', 'refused'] as const)(
  'a call that failed (%s) on an engine that is well loses nothing',
  async (kind) => {
    const { state, watch, pass } = setUp()
    await pass(0)
    await watch.callFailed(kind)
    expect([watch.ready(), state.lost]).toEqual([true, 0])
    watch.stop()
  },
)

test('each look is a sign: healthy, unanswered, silent, dead', async () => {
  const { state, signs, watch, pass } = setUp()
  await pass(0)
  state.answers = false
  await pass(2_000)
  state.answers = true
  await pass(1_000)
  state.running = 1
  await pass(61_000)
  state.running = 0
  state.healthy = false
  await pass(1_000)
  expect(signs.filter((sign, at) => sign !== signs[at - 1])).toEqual([
    'healthy',
    'unanswered',
    'healthy',
    'silent',
    'dead',
  ])
  watch.stop()
})

test('an engine that is to be restarted is not ready, however healthy it says it is', async () => {
  const { state, watch, pass } = setUp()
  state.mayBeReady = false
  await pass(5_000)
  expect(watch.ready()).toBe(false)
  state.mayBeReady = true
  await pass(1_000)
  expect(watch.ready()).toBe(true)
  watch.stop()
})
