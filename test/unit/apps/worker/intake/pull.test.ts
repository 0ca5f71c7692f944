import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPull } from '#apps/worker/intake/pull.ts'
import { createSlots } from '#apps/worker/intake/slots.ts'
import type { Turn } from '#libs/job-queue/pull-jobs.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Sets up a record in which `waiting` generations wait, and jobs that the test hands over. */
function setUp(capacity: number) {
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
    /** The generations that the record does not give to an offer now. */
    later: new Set<string>(),
    answers: Promise.resolve(),
    /** Called by each claim without an offer, which gets nothing if the result is false. */
    onFair: () => true,
  }
  const ends: (() => void)[] = []
  const offered: string[] = []
  /** The ids of the jobs that were removed. */
  const removed: string[] = []
  const wakes: ((turn: Turn) => void)[] = []
  const slots = createSlots(capacity)
  const turn: Turn = { done: () => void (state.done += 1), pass: async () => void (state.passed += 1) }
  const pull = createPull({
    async takeNext(offer) {
      state.claims += 1
      await state.answers
      if (offer !== null) {
        offered.push(offer.id)
        if (state.later.has(offer.id)) return 'later'
      }
      if (state.waiting === 0 || (offer === null && !state.onFair())) return null
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
      remove: async (id) => void removed.push(id),
      isPaused: async () => state.queuePaused,
      close: async () => void (state.closed = true),
    },
    onPause: () => void (state.pauses += 1),
    nowMs: () => Date.now(),
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
  return { pull, state, slots, ends, offered, removed, job, pass }
}

test('a job claims at once, and is completed when the claim is answered', async () => {
  const { state, slots, job } = setUp(1)
  state.waiting = 2
  expect(await job()).toBe(true)
  expect([state.claims, slots.running(), state.done]).toEqual([1, 1, 1])
})

test('a claim that gets nothing frees its slot, its job is completed, and the next one claims again', async () => {
  const { state, slots, job } = setUp(1)
  for (const claims of [1, 2]) {
    await job()
    expect([state.claims, state.done, slots.running()]).toEqual([claims, claims, 0])
  }
})

test('one job leads to claims of half of what waits, each beside a job, and to not one more than there is room for', async () => {
  const { state, slots, job, pass } = setUp(4)
  state.waiting = 10
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  await job()
  expect(state.claims).toBe(1)
  resolve()
  await pass(0)
  expect([state.claims, slots.running(), state.waiting]).toEqual([4, 4, 6])
  expect([state.taken, state.done]).toEqual([3, 4])
})

test('the claims in hand count for those that wait: none is in vain', async () => {
  const { state, job } = setUp(8)
  state.waiting = 5
  await job()
  expect([state.claims, state.taken, state.waiting]).toEqual([5, 4, 0])
})

test('a full worker waits for no job, and claims when it has room again', async () => {
  const { state, slots, ends, job, pass } = setUp(1)
  state.waiting = 2
  await job()
  expect(await job()).toBe(false)
  ends[0]?.()
  await pass(0)
  expect([state.claims, slots.running(), state.waiting]).toEqual([2, 1, 0])
})

test('a job that reaches a worker which has filled up meanwhile is passed on', async () => {
  const { state, slots, job, pass } = setUp(1)
  state.waiting = 1
  // While the worker waits for a job, it claims without one.
  await pass(1_000)
  expect(slots.running()).toBe(1)
  expect(await job()).toBe(true)
  expect([state.claims, state.passed]).toEqual([1, 1])
  expect(await job()).toBe(false)
})

test('half of what more waits is left to other workers that a burst has woken', async () => {
  const { state, job, pass } = setUp(40)
  state.waiting = 21
  const first = Promise.withResolvers<void>()
  const others = Promise.withResolvers<void>()
  state.answers = first.promise
  await job()
  state.answers = others.promise
  first.resolve()
  await pass(0)
  expect(state.claims).toBe(1 + 10)
  others.resolve()
  await pass(0)
  expect(state.waiting).toBe(0)
})

test('with room and no claim in hand it claims each second, and goes on while something waits', async () => {
  const { state, slots, pass } = setUp(3)
  state.waiting = 5
  await pass(999)
  expect(state.claims).toBe(0)
  await pass(1)
  expect([state.claims, slots.running(), state.waiting]).toEqual([3, 3, 2])
  await pass(2_000)
  expect(state.claims).toBe(3)
})

test('while the claim of a job has no answer it waits for no other, and makes no other claim', async () => {
  const { state, slots, job, pass } = setUp(8)
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  await job()
  expect(await job()).toBe(false)
  await pass(5_000)
  expect([state.claims, slots.running()]).toEqual([1, 1])
  resolve()
  await pass(0)
  expect(await job()).toBe(true)
  expect(state.claims).toBe(2)
})

test('a claim that failed gives its slot back', async () => {
  const { state, slots, job } = setUp(1)
  state.answers = Promise.reject(new Error('Connection is closed.'))
  state.answers.catch(() => {})
  await job()
  expect([state.claims, slots.running()]).toEqual([1, 0])
})

test('a worker that may not pull waits for no job and claims nothing, until it may', async () => {
  const { pull, state, job, pass } = setUp(1)
  // The worker already waits for a job.
  await pass(0)
  state.ready = false
  state.waiting = 1
  await job()
  expect([state.claims, state.passed]).toEqual([0, 1])
  expect(await job()).toBe(false)
  await pass(3_000)
  expect(state.claims).toBe(0)
  state.ready = true
  pull.follow()
  expect(await job()).toBe(true)
  expect(state.claims).toBe(1)
})

test('a pull that is closed claims nothing', async () => {
  const { pull, state, job, pass } = setUp(1)
  await pass(0)
  await pull.close()
  state.waiting = 1
  await job()
  await pass(3_000)
  expect([state.claims, state.closed]).toEqual([0, true])
})

test('a job whose claim got no answer is not completed', async () => {
  const { state, job } = setUp(1)
  state.answers = Promise.reject(new Error('Connection is closed.'))
  state.answers.catch(() => {})
  await job()
  expect([state.claims, state.done]).toEqual([1, 0])
})

test('while the queue is paused it waits for no job and claims nothing, until the queue is resumed', async () => {
  const { pull, state, job, pass } = setUp(2)
  state.queuePaused = true
  await pass(1_000)
  expect([pull.isPaused(), state.pauses, state.claims]).toEqual([true, 1, 1])
  state.waiting = 2
  // The worker had begun to wait before this moment.
  await job()
  expect([state.claims, state.passed]).toEqual([1, 1])
  expect(await job()).toBe(false)
  await pass(3_000)
  expect(state.claims).toBe(1)
  state.queuePaused = false
  await pass(1_000)
  expect([pull.isPaused(), state.pauses]).toEqual([false, 2])
  expect(await job()).toBe(true)
  expect(state.waiting).toBe(0)
})

const offer = (id: string, forMs = 500) => ({ model: 'demo-chat', id, epoch: 1, tag: 7, forMs })

test('an offered generation is claimed at once if there is room, and its delayed job is removed', async () => {
  const { pull, state, slots, offered, removed, pass } = setUp(1)
  state.waiting = 1
  pull.offer(offer('a'))
  await pass(0)
  expect([offered, removed, slots.running(), state.taken]).toEqual([['a'], ['a.1'], 1, 0])
})

test('an offer to a full worker is claimed when a slot becomes free, and not after its time', async () => {
  const { pull, state, ends, offered, job, pass } = setUp(1)
  state.waiting = 3
  await job()
  for (const [id, forMs] of [
    ['short', 100],
    ['long', 1_000],
  ] as const)
    pull.offer(offer(id, forMs))
  await pass(200)
  expect(offered).toEqual([])
  ends[0]?.()
  await pass(0)
  expect(offered).toEqual(['long'])
})

test('an offer that has passed frees its slot and removes no job', async () => {
  const { pull, slots, offered, removed, pass } = setUp(1)
  pull.offer(offer('gone'))
  await pass(0)
  expect([offered, removed, slots.running()]).toEqual([['gone'], [], 0])
})

test('while others wait, one of them is claimed after four offers in a row', async () => {
  const { pull, state, ends, offered, job, pass } = setUp(1)
  state.waiting = 20
  await job()
  for (let count = 0; count < 8; count += 1) pull.offer(offer(`offer-${count}`))
  const byOffer: boolean[] = []
  for (let count = 0; count < 6; count += 1) {
    const before = offered.length
    ends.at(-1)?.()
    await pass(0)
    byOffer.push(offered.length > before)
  }
  expect(byOffer).toEqual([true, true, true, true, false, true])
})

test('an offer that may not be claimed yet leaves the slot to another generation, and is tried again', async () => {
  const { pull, state, ends, offered, job, pass } = setUp(1)
  state.waiting = 3
  state.later.add('a')
  await job()
  pull.offer(offer('a'))
  ends.at(-1)?.()
  await pass(0)
  expect([offered, state.waiting]).toEqual([['a'], 1])
  state.later.clear()
  ends.at(-1)?.()
  await pass(0)
  expect([offered, state.waiting]).toEqual([['a', 'a'], 0])
})

test('an offer that may not be claimed yet is tried again at once if the worker has another free slot', async () => {
  const { pull, state, slots, offered, pass } = setUp(2)
  state.waiting = 2
  state.later.add('a')
  state.onFair = () => state.later.delete('a')
  pull.offer(offer('a'))
  await pass(0)
  expect([offered, slots.running(), state.waiting]).toEqual([['a', 'a'], 2, 0])
})

test('after a claim that got nothing, the offers that are kept beside a free slot are claimed', async () => {
  const { pull, state, offered, pass } = setUp(8)
  state.waiting = 20
  state.onFair = () => false
  for (let count = 0; count < 5; count += 1) pull.offer(offer(`offer-${count}`))
  await pass(0)
  expect(offered).toHaveLength(5)
})

test('a worker that may not pull claims no offer', async () => {
  const { pull, state, offered, pass } = setUp(1)
  state.ready = false
  state.waiting = 1
  pull.offer(offer('a'))
  await pass(0)
  expect(offered).toEqual([])
})
