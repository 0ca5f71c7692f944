import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { setUp } from './pull-under-test.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

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
