import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHandOver } from '#apps/worker/intake/hand-over.ts'
import type { RunningGeneration } from '#apps/worker/run/running-generation.ts'
import { createSlots } from '#apps/worker/intake/slots.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { claimedGeneration, runningUnderTest } from '../run/running-under-test.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const GRACE_MS = 10_000

/** Sets up runs that end as soon as they are stopped. A run with tokens has 11 tokens with gaps of 100 ms. */
function setUp() {
  const { running } = runningUnderTest()
  const slots = createSlots(10)
  const live = new Set<RunningGeneration>()
  const state = { room: 0, over: false }
  const handOver = createHandOver({
    live: () => live,
    idle: slots.idle,
    roomElsewhere: () => state.room,
    nowMs: () => Date.now(),
  })

  function open(stream: number, mostTokens: number | null, choices = 1): RunningGeneration {
    const leave = slots.take()
    const job = generationJob({ stream, ...(choices > 1 && { choices }) })
    const run = running.open(claimedGeneration(job), () => {
      live.delete(run)
      leave()
    })
    live.add(run)
    run.signal.addEventListener('abort', () => run.close())
    if (mostTokens === null) return run
    run.expectOutput(mostTokens)
    Object.assign(run.output, { tokens: 11, firstMs: 0, lastMs: 1_000 })
    return run
  }

  const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
  const begin = () => {
    void handOver(GRACE_MS).then(() => (state.over = true))
  }
  const reasons = (runs: readonly RunningGeneration[]) => runs.map((run) => run.stopReason())
  return { open, state, begin, pass, reasons }
}

test('what is surely short runs on; the rest is handed over as far as there is room', async () => {
  const { open, state, begin, pass, reasons } = setUp()
  const short = open(1, 11 + 50)
  const long = [open(2, 11 + 101), open(3, null), open(4, 5_000)]
  state.room = 2
  begin()
  expect(reasons([short, ...long])).toEqual([null, 'worker-stopping', 'worker-stopping', null])
  // The heartbeat that shows the taken slots is still on its way.
  await pass(1_000)
  expect(reasons(long)).toEqual(['worker-stopping', 'worker-stopping', null])
  state.room = 1
  await pass(1_000)
  expect(reasons([short, ...long])).toEqual([null, 'worker-stopping', 'worker-stopping', 'worker-stopping'])
  expect(state.over).toBe(false)
  short.close()
  await pass(0)
  expect(state.over).toBe(true)
})

test('without room elsewhere everything runs to the grace, and is handed back then', async () => {
  const { open, state, begin, pass, reasons } = setUp()
  const runs = [open(1, 5_000), open(2, null)]
  begin()
  await pass(GRACE_MS - 1)
  expect(reasons(runs)).toEqual([null, null])
  await pass(1)
  expect(reasons(runs)).toEqual(['worker-stopping', 'worker-stopping'])
  await pass(0)
  expect(state.over).toBe(true)
})

test('a request of several answers takes as many slots elsewhere', async () => {
  const { open, state, begin, pass, reasons } = setUp()
  const runs = [open(1, 5_000, 3), open(2, 5_000)]
  state.room = 3
  begin()
  await pass(0)
  expect(reasons(runs)).toEqual(['worker-stopping', null])
})

test('nothing that runs is nothing to wait for', async () => {
  const { state, begin, pass } = setUp()
  begin()
  await pass(0)
  expect(state.over).toBe(true)
})
