import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPull } from '#apps/worker/intake/pull.ts'
import { createSlots } from '#apps/worker/intake/slots.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A record in which `waiting` generations wait, and tickets that a test hands over. */
function setUp(capacity: number) {
  const state = { waiting: 0, claims: 0, ready: true, passed: 0, closed: false, answers: Promise.resolve() }
  const ends: (() => void)[] = []
  const wakes: (() => void)[] = []
  const slots = createSlots(capacity)
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
    tickets: {
      async next() {
        const { promise, resolve } = Promise.withResolvers<void>()
        wakes.push(resolve)
        await promise
      },
      pass: async () => void (state.passed += 1),
      close: async () => void (state.closed = true),
    },
    nowMs: () => Date.now(),
    log: pino({ level: 'silent' }),
  })
  const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
  /** Wakes the worker if it waits for a ticket; returns whether it did. */
  async function ticket(): Promise<boolean> {
    await pass(0)
    const wake = wakes.shift()
    wake?.()
    await pass(0)
    return wake !== undefined
  }
  return { pull, state, slots, ends, ticket, pass }
}

test('a ticket claims at once', async () => {
  const { state, slots, ticket } = setUp(1)
  state.waiting = 2
  expect(await ticket()).toBe(true)
  expect([state.claims, slots.running()]).toEqual([1, 1])
})

test('a claim that gets nothing frees its slot, and the next ticket claims again', async () => {
  const { state, slots, ticket } = setUp(1)
  for (const claims of [1, 2]) {
    await ticket()
    expect([state.claims, slots.running()]).toEqual([claims, 0])
  }
})

test('one ticket claims as many as wait, at once, and not one more than there is room for', async () => {
  const { state, slots, ticket, pass } = setUp(4)
  state.waiting = 10
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  await ticket()
  expect(state.claims).toBe(1)
  resolve()
  await pass(0)
  expect([state.claims, slots.running(), state.waiting]).toEqual([4, 4, 6])
})

test('the claims in hand count for those that wait', async () => {
  const { state, ticket, pass } = setUp(8)
  state.waiting = 3
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  for (let tickets = 0; tickets < 3; tickets += 1) await ticket()
  resolve()
  await pass(0)
  expect([state.claims, state.waiting]).toEqual([3, 0])
})

test('a full worker waits for no ticket, and claims when it has room again', async () => {
  const { state, slots, ends, ticket, pass } = setUp(1)
  state.waiting = 2
  await ticket()
  expect(await ticket()).toBe(false)
  ends[0]?.()
  await pass(0)
  expect([state.claims, slots.running(), state.waiting]).toEqual([2, 1, 0])
})

test('a ticket that reaches a worker which has filled up meanwhile is passed on', async () => {
  const { state, slots, ticket, pass } = setUp(1)
  state.waiting = 1
  // It waits for a ticket, and claims without one.
  await pass(1_000)
  expect(slots.running()).toBe(1)
  expect(await ticket()).toBe(true)
  expect([state.claims, state.passed]).toEqual([1, 1])
  expect(await ticket()).toBe(false)
})

test('where it is full and more wait, it wakes another worker, four times a second at most', async () => {
  const { state, ends, ticket, pass } = setUp(1)
  state.waiting = 9
  await ticket()
  expect([state.claims, state.passed]).toEqual([1, 1])
  ends[0]?.()
  await pass(249)
  expect([state.claims, state.passed]).toEqual([2, 1])
  ends[1]?.()
  await pass(1)
  ends[2]?.()
  await pass(1)
  expect([state.claims, state.passed]).toEqual([4, 2])
})

test('half of what more waits is left to other workers that a burst has woken', async () => {
  const { state, ticket, pass } = setUp(40)
  state.waiting = 21
  const first = Promise.withResolvers<void>()
  const others = Promise.withResolvers<void>()
  state.answers = first.promise
  await ticket()
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

test('while a claim has no answer no other is begun without a ticket, and after half a second with none', async () => {
  const { state, slots, ticket, pass } = setUp(8)
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  await ticket()
  await ticket()
  expect(state.claims).toBe(2)
  await pass(5_000)
  await ticket()
  expect([state.claims, slots.running()]).toEqual([2, 2])
  resolve()
  await pass(1_000)
  expect(state.claims).toBe(3)
})

test('a claim that failed gives its slot back', async () => {
  const { state, slots, ticket } = setUp(1)
  state.answers = Promise.reject(new Error('Connection is closed.'))
  state.answers.catch(() => {})
  await ticket()
  expect([state.claims, slots.running()]).toEqual([1, 0])
})

test('a worker that may not pull waits for no ticket and claims nothing, until it may', async () => {
  const { pull, state, ticket, pass } = setUp(1)
  // It waits already.
  await pass(0)
  state.ready = false
  state.waiting = 1
  await ticket()
  expect([state.claims, state.passed]).toEqual([0, 1])
  expect(await ticket()).toBe(false)
  await pass(3_000)
  expect(state.claims).toBe(0)
  state.ready = true
  pull.follow()
  expect(await ticket()).toBe(true)
  expect(state.claims).toBe(1)
})

test('a pull that is closed claims nothing', async () => {
  const { pull, state, ticket, pass } = setUp(1)
  await pass(0)
  await pull.close()
  state.waiting = 1
  await ticket()
  await pass(3_000)
  expect([state.claims, state.closed]).toEqual([0, true])
})
