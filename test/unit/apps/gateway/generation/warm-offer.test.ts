import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { NEXT, WAITING, setUp as setUpDispatch } from './dispatch-under-test.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const RESERVED = { status: 'waiting', tag: 7, ahead: 0, costAhead: 0, isReserved: true } as const
const WARM = { ...RESERVED, seat: 'worker-1' } as const
const SEATS = { taken: ['one'], sought: ['one'], isReserved: false }
const FIRST = { taken: ['one'], sought: [], isReserved: true }

/** Sets up a turn whose seat was found. */
const setUp = (options: Parameters<typeof setUpDispatch>[1] = {}) =>
  setUpDispatch([WARM], { seats: SEATS, offerWaitMs: 100, ...options })

const OFFERED = ['lift 1', 'add 1 after 100 ms', 'offer 1 at 7 to worker-1 for 100 ms']
const CLAIM = { worker: 'worker-1', promptTokens: 3 }

test('a turn is lifted first, and offered to the worker of its seat with a delayed job', async () => {
  const { dispatched, log } = setUp()
  expect(await dispatched.begin()).toBe(0)
  expect(log).toEqual(OFFERED)
})

test('a claim by the worker ends the offer, and leaves the removal of the job to it', async () => {
  const { dispatched, log, after } = setUp()
  await dispatched.begin()
  dispatched.claimed(CLAIM)
  await after(2_000)
  dispatched.close()
  expect(log).toEqual([...OFFERED, 'taken', 'watch worker-1', 'unwatch worker-1'])
})

test('a turn that was offered to a calmer worker has moved when that one claims it', async () => {
  const { dispatched, log } = setUp({ offerTo: 'worker-2' })
  await dispatched.begin()
  dispatched.claimed({ ...CLAIM, worker: 'worker-2' })
  expect(log.slice(-3)).toEqual(['offer 1 at 7 to worker-2 for 100 ms', 'moved', 'watch worker-2'])
})

test('a first turn is placed at the calmest worker', async () => {
  const { dispatched, log } = setUpDispatch([RESERVED], { seats: FIRST, offerWaitMs: 100, offerTo: 'calm' })
  await dispatched.begin()
  dispatched.claimed({ ...CLAIM, worker: 'calm' })
  expect(log).toEqual([
    'lift 1',
    'add 1 after 100 ms',
    'offer 1 at 7 to calm for 100 ms',
    'placed',
    'watch calm',
  ])
})

test('a first turn that no worker may be offered has a job that is due at once, and is not reserved any more', async () => {
  const { dispatched, log } = setUpDispatch([RESERVED], { seats: FIRST })
  await dispatched.begin()
  expect(log).toEqual(['lift 1', 'unreserve', 'add 1'])
})

test('a generation without a seat that is not reserved is not offered', async () => {
  const { dispatched, log } = setUpDispatch([WAITING], { seats: SEATS, offerWaitMs: 100, offerTo: 'calm' })
  await dispatched.begin()
  expect(log).toEqual(['lift 1', 'add 1'])
})

test('a turn is reserved as long as its offer to a full worker lasts', async () => {
  const { dispatched, log } = setUp({ offerWaitMs: 1_000 })
  await dispatched.begin()
  expect(log).toEqual([
    'lift 1',
    'reserve for 1000 ms',
    'add 1 after 1000 ms',
    'offer 1 at 7 to worker-1 for 1000 ms',
  ])
})

test('a claim by another worker takes the delayed job away', async () => {
  const { dispatched, log } = setUp()
  await dispatched.begin()
  dispatched.claimed({ ...CLAIM, worker: 'worker-2' })
  expect(log).toEqual([...OFFERED, 'remove 1', 'elsewhere', 'watch worker-2'])
})

test('the job becomes due when nobody has claimed the generation in time', async () => {
  const { dispatched, log, after } = setUp()
  await dispatched.begin()
  await after(99)
  expect(log).toEqual(OFFERED)
  await after(1)
  dispatched.claimed(CLAIM)
  expect(log).toEqual([...OFFERED, 'unreserve', 'due 1', 'late', 'watch worker-1'])
})

test('an offer was taken in time if the worker has removed the job, although its claim arrives late', async () => {
  const { dispatched, log, after } = setUp({ jobRemoved: true })
  await dispatched.begin()
  await after(5_000)
  dispatched.claimed(CLAIM)
  expect(log).toEqual([...OFFERED, 'unreserve', 'due 1', 'lift 1', 'add 1.2', 'taken', 'watch worker-1'])
})

test('an offer that reaches no worker makes the job due at once', async () => {
  const { dispatched, log, after } = setUp({ offersUnheard: true })
  await dispatched.begin()
  await after(0)
  expect(log).toEqual([...OFFERED, 'unreserve', 'due 1', 'unheard'])
  await after(200)
  expect(log).toEqual([...OFFERED, 'unreserve', 'due 1', 'unheard'])
})

test('a turn whose worker may get no offer has a job that is due at once', async () => {
  const { dispatched, log } = setUp({ offerWaitMs: null })
  await dispatched.begin()
  expect(log).toEqual(['lift 1', 'refused', 'unreserve', 'add 1'])
})

test('a turn without a seat has a job that is due at once, and so has a generation that seeks none', async () => {
  const without = setUpDispatch(undefined, { seats: SEATS, offerWaitMs: 100 })
  await without.dispatched.begin()
  expect(without.log).toEqual(['lift 1', 'add 1'])
  const seats = { ...FIRST, isReserved: false }
  const first = setUpDispatch([WARM], { seats, offerWaitMs: 100 })
  await first.dispatched.begin()
  expect(first.log).toEqual(['lift 1', 'add 1'])
})

test('a caller who leaves, and a generation that is lost, take the delayed job away', async () => {
  const left = setUp()
  await left.dispatched.begin()
  left.dispatched.close()
  await left.after(1_000)
  expect(left.log).toEqual([...OFFERED, 'remove 1'])
  const lost = setUp()
  await lost.dispatched.begin()
  await lost.dispatched.again(NEXT)
  expect(lost.log).toEqual([...OFFERED, 'remove 1', 'raise', 'lift 2', 'add 2'])
})
