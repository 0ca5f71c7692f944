import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EngineLoad } from '#apps/worker/engine/engine-client.ts'
import { createLoadWatch } from '#apps/worker/engine-watch/watch-load.ts'

const LOAD: EngineLoad = {
  running: 1,
  waiting: 0,
  kvUsage: 0.5,
  kvUsedTokens: 50,
  kvCapacityTokens: 100,
  version: null,
}

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

test('the load is asked for each second, one question at a time; no answer and no engine are unknown', async () => {
  const state = { asked: true, answer: async () => LOAD }
  const seen: (EngineLoad | null)[] = []
  const watch = createLoadWatch({
    getLoads: async () => await state.answer(),
    isAsked: () => state.asked,
    onLoad: (load) => seen.push(load),
    log: pino({ level: 'silent' }),
  })
  const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
  await pass(0)
  expect(watch.last()).toEqual(LOAD)
  state.answer = () => Promise.reject(new Error('Method not found!'))
  await pass(1_000)
  expect(watch.last()).toBeNull()
  const { promise, resolve } = Promise.withResolvers<EngineLoad>()
  state.answer = () => promise
  await pass(5_000)
  expect(seen).toEqual([LOAD, null])
  resolve(LOAD)
  await pass(0)
  state.asked = false
  await pass(1_000)
  expect(seen).toEqual([LOAD, null, LOAD, null])
  watch.stop()
  await pass(5_000)
  expect(seen).toHaveLength(4)
})
