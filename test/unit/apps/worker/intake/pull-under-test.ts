import { pino } from 'pino'
import { vi } from 'vitest'
import { createPull } from '#apps/worker/intake/pull.ts'
import { createSlots } from '#apps/worker/intake/slots.ts'
import type { Turn } from '#libs/job-queue/pull-jobs.ts'

/** Sets up a record in which `waiting` generations wait, and jobs that the test hands over. */
export function setUp(capacity: number) {
  const state = {
    waiting: 0,
    claims: 0,
    ready: true,
    /** The number of jobs that were taken without waiting. */
    taken: 0,
    done: 0,
    passed: 0,
    queuePaused: false,
    pauses: 0,
    closed: false,
    answers: Promise.resolve(),
  }
  const ends: (() => void)[] = []
  const wakes: ((turn: Turn) => void)[] = []
  const slots = createSlots(capacity)
  const turn: Turn = { done: () => void (state.done += 1), pass: async () => void (state.passed += 1) }
  const pull = createPull({
    async takeNext() {
      state.claims += 1
      await state.answers
      if (state.waiting === 0) return null
      state.waiting -= 1
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      return { ended: promise, waiting: state.waiting }
    },
    slots,
    mayPull: () => state.ready,
    jobs: {
      async next() {
        const { promise, resolve } = Promise.withResolvers<Turn>()
        wakes.push(resolve)
        return await promise
      },
      async take() {
        state.taken += 1
        return turn
      },
      isPaused: async () => state.queuePaused,
      close: async () => void (state.closed = true),
    },
    onPause: () => void (state.pauses += 1),
    log: pino({ level: 'silent' }),
  })
  const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
  /** Hands the worker a job if it waits for one; returns whether it did. */
  async function job(): Promise<boolean> {
    await pass(0)
    const wake = wakes.shift()
    wake?.(turn)
    await pass(0)
    return wake !== undefined
  }
  return { pull, state, slots, ends, job, pass }
}
