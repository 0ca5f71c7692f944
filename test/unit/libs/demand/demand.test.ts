import { expect, test } from 'vitest'
import {
  busySlots,
  expectedWaitMs,
  mostQueued,
  queueSlots,
  shortOfSlots,
  toDrain,
  type SlotLoad,
} from '#libs/demand/demand.ts'

const LOAD: SlotLoad = { waiting: 0, running: 0, slots: 64, askedPerS: 0, endsPerS: 0, meanMs: 7_350 }
const waitOf = (load: SlotLoad) => expectedWaitMs(load.waiting, toDrain(load))

test('slots in use follow from rate and mean time, and are never fewer than those that run', () => {
  expect(busySlots({ perS: 12, running: 3, meanMs: 5_000 })).toBe(60)
  expect(busySlots({ perS: 0, running: 3, meanMs: 5_000 })).toBe(3)
  expect(busySlots({ perS: 12, running: 3, meanMs: null })).toBe(3)
})

test('a queue needs the share of a slot that it uses within the target wait, at most a slot each', () => {
  expect(queueSlots({ waiting: 60, meanMs: 5_000, targetWaitMs: 30_000 })).toBe(10)
  expect(queueSlots({ waiting: 60, meanMs: 90_000, targetWaitMs: 30_000 })).toBe(60)
  expect(queueSlots({ waiting: 60, meanMs: null, targetWaitMs: 30_000 })).toBe(60)
})

test('11.8 a second of 7.35 s, with 261 waiting and 64 slots full, are short of 87 slots', () => {
  // ⌈11.8 × 7.35⌉ = 87 slots for new requests and ⌈261 × 7.35 ÷ 30⌉ = 64 for the queue are needed; there are 64.
  expect(shortOfSlots({ ...LOAD, waiting: 261, running: 64, askedPerS: 11.8 })).toBe(87)
})

test('what waits beside free slots needs no more of them', () => {
  expect(shortOfSlots({ ...LOAD, waiting: 10, running: 4 })).toBe(0)
  expect(waitOf({ ...LOAD, waiting: 10, running: 4 })).toBe(0)
})

test('a model without a slot is short of what waits', () => {
  expect(shortOfSlots({ ...LOAD, waiting: 5, slots: 0, meanMs: null })).toBe(5)
})

test('a product that is whole but for its rounding is not rounded up', () => {
  // 0.1 × 3 is 0.30000000000000004.
  expect(shortOfSlots({ ...LOAD, slots: 0, askedPerS: 0.1 * 3, meanMs: 10_000 })).toBe(3)
})

test('the wait is that of the faster of the two drains, the measured one and that of full slots', () => {
  const busy = { ...LOAD, waiting: 100, running: 10, slots: 10, meanMs: 2_000 }
  expect(waitOf(busy)).toBe(20_000)
  expect(waitOf({ ...busy, endsPerS: 20 })).toBe(5_000)
  expect(waitOf({ ...busy, endsPerS: 2 })).toBe(20_000)
})

test('the wait is not known where something waits and nothing drains', () => {
  expect(waitOf({ ...LOAD, waiting: 1, slots: 0 })).toBeNull()
  expect(waitOf({ ...LOAD, waiting: 1, slots: 0, meanMs: null })).toBeNull()
  expect(waitOf({ ...LOAD, waiting: 0, slots: 0, meanMs: null })).toBe(0)
})

test('as much may be queued as waits for exactly the bound', () => {
  const drain = { free: 3, perMs: 0.5 }
  expect(mostQueued(1_000, drain)).toBe(503)
  expect(expectedWaitMs(mostQueued(1_000, drain), drain)).toBe(1_000)
})
