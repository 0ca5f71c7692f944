import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPull } from '#apps/worker/pull.ts'
import { createSlots } from '#apps/worker/slots.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A record in which `waiting` generations wait, and a queue whose tickets a test hands over. */
function setUp(capacity: number) {
  const state = { waiting: 0, claims: 0, ready: true, answers: Promise.resolve() }
  const ends: (() => void)[] = []
  const queue: string[] = []
  let onTicket = async () => {}
  const slots = createSlots(capacity)
  const pull = createPull({
    async takeNext() {
      state.claims += 1
      await state.answers
      if (state.waiting === 0) return null
      state.waiting -= 1
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      return { ended: promise }
    },
    slots,
    mayPull: () => state.ready,
    openTickets(handle) {
      onTicket = handle
      return {
        start: () => queue.push('start'),
        pause: async () => void queue.push('pause'),
        resume: async () => void queue.push('resume'),
        close: async () => void queue.push('close'),
      }
    },
    log: pino({ level: 'silent' }),
  })
  const ticket = async () => await onTicket()
  const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
  return { pull, state, slots, ends, queue, ticket, pass }
}

test('a ticket claims at once, and is done when there is room for another', async () => {
  const { state, slots, ends, ticket, pass } = setUp(1)
  state.waiting = 2
  let done = false
  const taken = ticket().then(() => (done = true))
  await pass(0)
  expect([state.claims, slots.running(), done]).toEqual([1, 1, false])
  ends[0]?.()
  await taken
  expect([state.claims, slots.running()]).toEqual([1, 0])
})

test('a ticket whose generation is gone frees its slot', async () => {
  const { state, slots, ticket } = setUp(1)
  await ticket()
  expect([state.claims, slots.running()]).toEqual([1, 0])
})

test('with room and no claim in hand it claims each second, and goes on while it gets one', async () => {
  const { state, slots, pass } = setUp(3)
  state.waiting = 5
  await pass(999)
  expect(state.claims).toBe(0)
  await pass(1)
  expect([state.claims, slots.running(), state.waiting]).toEqual([3, 3, 2])
  await pass(2_000)
  expect(state.claims).toBe(3)
})

test('while a claim has no answer no other is begun without a ticket', async () => {
  const { state, slots, pass } = setUp(3)
  const { promise, resolve } = Promise.withResolvers<void>()
  state.answers = promise
  await pass(5_000)
  expect([state.claims, slots.running()]).toEqual([1, 1])
  resolve()
  await pass(1_000)
  expect(state.claims).toBe(2)
})

test('a claim that failed gives its slot back', async () => {
  const { state, slots, ticket } = setUp(1)
  state.answers = Promise.reject(new Error('Connection is closed.'))
  await ticket()
  expect([state.claims, slots.running()]).toEqual([1, 0])
})

test('a worker that may not pull claims nothing, for a ticket neither', async () => {
  const { state, ticket, pass } = setUp(1)
  state.ready = false
  state.waiting = 1
  await ticket()
  await pass(3_000)
  expect(state.claims).toBe(0)
})

test('tickets follow the engine, and end with the pull, as do the claims without one', async () => {
  const { pull, state, queue, pass } = setUp(1)
  for (const ready of [true, false, true]) await pull.follow(ready)
  await pull.close()
  expect(queue).toEqual(['start', 'pause', 'resume', 'close'])
  await pass(3_000)
  expect(state.claims).toBe(0)
})

test('an engine that is healthy while its worker is cordoned gets its tickets after the cordon', async () => {
  const { pull, queue } = setUp(1)
  for (const ready of [false, true, false, true]) await pull.follow(ready)
  await pull.close()
  expect(queue).toEqual(['start', 'pause', 'resume', 'close'])
})
