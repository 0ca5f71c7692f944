/**
 * Estimates how many slots a model's load needs and how long the generations in its queue will wait. The scaler turns
 * the number of slots into replicas, and the console shows how many slots are missing; both use this arithmetic.
 */

/** Slots suffice if they empty a queue within this time, which is the default drain bound of gateways. */
const TARGET_WAIT_MS = 30_000

/**
 * Returns the busy slots, not rounded. This is the larger of two numbers:
 * - the running generations;
 * - requests per second × mean service time (Little's law).
 *
 * While the service time is unknown, the result is the running generations, which is a lower bound.
 */
export function busySlots(load: { perS: number; running: number; meanMs: number | null }): number {
  return load.meanMs === null ? load.running : Math.max(load.running, (load.perS * load.meanMs) / 1_000)
}

/**
 * Returns the slots that empty the queue within the target wait, not rounded. This is the smaller of two numbers:
 * - one slot per waiting generation;
 * - waiting generations × mean service time ÷ target wait.
 *
 * While the service time is unknown, the result is one slot per waiting generation, which is an upper bound.
 */
export function queueSlots(queue: { waiting: number; meanMs: number | null; targetWaitMs: number }): number {
  return queue.meanMs === null
    ? queue.waiting
    : queue.waiting * Math.min(1, queue.meanMs / queue.targetWaitMs)
}

/** The measured load of one model; rates per second. */
export type SlotLoad = {
  readonly waiting: number
  readonly running: number
  readonly slots: number
  readonly askedPerS: number
  readonly endsPerS: number
  readonly meanMs: number | null
}

/**
 * Returns how many more slots are needed to keep up with the requests and to empty the queue within `TARGET_WAIT_MS`:
 * busy slots + queue slots − present slots, at least 0. A waiting generation for which a slot is free does not count in
 * the queue, because it is claimed at once.
 */
export function shortOfSlots({ waiting, running, slots, askedPerS, meanMs }: SlotLoad): number {
  const busy = Math.ceil(busySlots({ perS: askedPerS, running, meanMs }) - ROUNDING)
  const beyondFree = Math.max(0, waiting - freeSlots(slots, running))
  const queue = Math.ceil(
    queueSlots({ waiting: beyondFree, meanMs, targetWaitMs: TARGET_WAIT_MS }) - ROUNDING,
  )
  return Math.max(0, busy + queue - slots)
}

/**
 * Returns how long the last of the generations in the queue will wait, in ms: waiting generations without a free slot ÷
 * drain rate. The drain rate is the larger of two rates:
 * - the measured rate at which generations end;
 * - slots ÷ mean service time, the rate at which generations end if all slots are busy.
 *
 * Returns null if generations wait and the drain rate is 0.
 */
export function expectedWaitMs({ waiting, running, slots, endsPerS, meanMs }: SlotLoad): number | null {
  const beyondFree = Math.max(0, waiting - freeSlots(slots, running))
  if (beyondFree === 0) return 0
  const ofSlotsPerS = meanMs === null || meanMs <= 0 ? 0 : (slots * 1_000) / meanMs
  const drainPerS = Math.max(endsPerS, ofSlotsPerS)
  return drainPerS === 0 ? null : (beyondFree / drainPerS) * 1_000
}

/** Floating-point products make 2.000000001 slots of 2; this excess is ignored. */
const ROUNDING = 1e-9

const freeSlots = (slots: number, running: number) => Math.max(0, slots - running)
