import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEngineLife, type RestartReason } from '#apps/worker/engine-watch/engine-life.ts'

const START_LIMIT_MS = 60_000
const SILENCE_MS = 30_000

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Sets up an engine that loads, and the restart request that a supervisor would see. */
function setUp({ withRequest = true } = {}) {
  const state = { refused: true, draining: false, requested: '', writable: true }
  const restarts: RestartReason[] = []
  const started: number[] = []
  const life = createEngineLife({
    request: withRequest
      ? {
          async create(reason) {
            if (!state.writable) throw new Error('ENOSPC')
            state.requested = reason
          },
          async remove() {
            state.requested = ''
          },
        }
      : null,
    isRefused: async () => state.refused,
    isDraining: () => state.draining,
    startLimitMs: START_LIMIT_MS,
    silenceMs: SILENCE_MS,
    onRestart: (reason) => restarts.push(reason),
    onStarted: (ms) => started.push(ms),
    nowMs: () => Date.now(),
    log: pino({ level: 'silent' }),
  })
  const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
  function becomeReady() {
    state.refused = false
    life.noteSign('healthy')
    life.noteReady(true)
  }
  /** Reports the loss of the engine, as the watch does. */
  function lose(sign: 'dead' | 'silent' | 'unanswered') {
    life.noteSign(sign)
    life.noteReady(false)
  }
  return { state, restarts, started, life, pass, becomeReady, lose }
}

test('a dead engine is to be restarted, until connections are refused', async () => {
  const { state, restarts, life, pass, becomeReady, lose } = setUp()
  becomeReady()
  lose('dead')
  await pass(250)
  expect([state.requested, life.awaitsRestart()]).toEqual(['dead', true])
  life.noteSign('dead')
  await pass(60_000)
  expect([state.requested, restarts]).toEqual(['dead', ['dead']])
  state.refused = true
  await pass(250)
  expect([state.requested, life.awaitsRestart()]).toEqual(['', false])
})

test('a dead engine whose restart was too quick to be seen is known by its health', async () => {
  const { state, life, pass, becomeReady, lose } = setUp()
  becomeReady()
  lose('dead')
  await pass(250)
  life.noteSign('healthy')
  await pass(250)
  expect([state.requested, life.awaitsRestart()]).toEqual(['', false])
})

test('a silent engine is to be restarted, however healthy it says it is', async () => {
  const { state, life, pass, becomeReady, lose } = setUp()
  becomeReady()
  lose('silent')
  await pass(250)
  life.noteSign('healthy')
  await pass(5_000)
  expect([state.requested, life.awaitsRestart()]).toEqual(['silent', true])
  state.refused = true
  await pass(250)
  expect(state.requested).toBe('')
})

test('an engine that listens and gives no answer is to be restarted after the silence', async () => {
  const { state, pass, becomeReady, lose } = setUp()
  becomeReady()
  lose('unanswered')
  await pass(SILENCE_MS - 250)
  expect(state.requested).toBe('')
  await pass(500)
  expect(state.requested).toBe('silent')
})

test('an answer ends the silence', async () => {
  const { state, life, pass, becomeReady, lose } = setUp()
  becomeReady()
  lose('unanswered')
  await pass(SILENCE_MS - 1_000)
  becomeReady()
  await pass(SILENCE_MS)
  lose('unanswered')
  await pass(SILENCE_MS - 1_000)
  expect([state.requested, life.awaitsRestart()]).toEqual(['', false])
})

test('an engine whose process has ended starts again by itself: nothing is asked for, and it is counted', async () => {
  const { state, restarts, started, pass, becomeReady, lose } = setUp()
  await pass(20_000)
  becomeReady()
  lose('unanswered')
  state.refused = true
  await pass(250)
  expect([state.requested, restarts]).toEqual(['', ['gone']])
  await pass(12_000)
  becomeReady()
  expect(started).toEqual([20_000, 12_000])
})

test('a start that takes longer than the limit has failed; a request that no engine shows as seen ends after 7 s', async () => {
  const { state, restarts, pass } = setUp()
  await pass(START_LIMIT_MS)
  expect(state.requested).toBe('')
  await pass(500)
  expect(state.requested).toBe('not-up')
  await pass(6_000)
  expect(state.requested).toBe('not-up')
  await pass(1_500)
  expect([state.requested, restarts]).toEqual(['', ['not-up']])
  await pass(START_LIMIT_MS - 1_000)
  expect(restarts).toEqual(['not-up'])
  await pass(2_000)
  expect(restarts).toEqual(['not-up', 'not-up'])
})

test('an engine that was slow to start once is waited for three times as long', async () => {
  const { state, restarts, pass, becomeReady, lose } = setUp()
  await pass(START_LIMIT_MS - 1_000)
  becomeReady()
  lose('unanswered')
  state.refused = true
  await pass(3 * (START_LIMIT_MS - 1_000))
  expect(restarts).toEqual(['gone'])
  await pass(1_500)
  expect(restarts).toEqual(['gone', 'not-up'])
})

test('three restarts within ten minutes make it sick, until the first is older', async () => {
  const { state, life, pass, becomeReady, lose } = setUp()
  for (const gapMs of [0, 100_000, 200_000]) {
    becomeReady()
    await pass(gapMs)
    expect(life.isSick()).toBe(false)
    lose('dead')
    await pass(250)
    state.refused = true
    await pass(250)
  }
  becomeReady()
  expect(life.isSick()).toBe(true)
  await pass(600_000 - 302_000)
  expect(life.isSick()).toBe(true)
  await pass(2_000)
  expect(life.isSick()).toBe(false)
})

test('without a request, and while the worker drains, no restart is asked for', async () => {
  const without = setUp({ withRequest: false })
  without.becomeReady()
  without.lose('dead')
  const draining = setUp()
  draining.becomeReady()
  draining.state.draining = true
  draining.lose('dead')
  await draining.pass(1_000)
  expect([without.life.awaitsRestart(), draining.life.awaitsRestart()]).toEqual([false, false])
  expect([without.restarts, draining.restarts, draining.state.requested]).toEqual([[], [], ''])
})

test('a request that cannot be written is tried again', async () => {
  const { state, pass, becomeReady, lose } = setUp()
  becomeReady()
  state.writable = false
  lose('dead')
  await pass(1_000)
  state.writable = true
  await pass(5_000)
  expect(state.requested).toBe('dead')
})

test('it has been loading since it was last ready', async () => {
  const { life, pass, becomeReady, lose } = setUp()
  await pass(3_000)
  expect(life.loadingMs()).toBe(3_000)
  becomeReady()
  expect(life.loadingMs()).toBeNull()
  await pass(3_000)
  lose('unanswered')
  await pass(1_000)
  expect(life.loadingMs()).toBe(1_000)
})

test('an engine that reports that it is not healthy while it starts is waited for, up to the limit', async () => {
  const { state, restarts, started, pass, becomeReady, lose } = setUp()
  state.refused = false
  for (let s = 0; s < 50; s += 1) {
    lose('dead')
    await pass(1_000)
  }
  expect([state.requested, restarts]).toEqual(['', []])
  becomeReady()
  expect(started).toEqual([50_000])
  lose('dead')
  await pass(250)
  expect(state.requested).toBe('dead')

  // The next process listens early, too, and never becomes healthy.
  state.refused = true
  await pass(250)
  state.refused = false
  lose('dead')
  await pass(3 * 50_000 - 1_000)
  expect([state.requested, restarts]).toEqual(['', ['dead']])
  await pass(2_000)
  expect([state.requested, restarts]).toEqual(['not-up', ['dead', 'not-up']])
})

test('an engine that is found dead is to be restarted, although this process never saw it ready', async () => {
  const { state, life, pass } = setUp()
  state.refused = false
  life.noteDead()
  await pass(250)
  expect([state.requested, life.awaitsRestart()]).toEqual(['dead', true])
  state.refused = true
  await pass(250)
  expect([state.requested, life.awaitsRestart()]).toEqual(['', false])
})
