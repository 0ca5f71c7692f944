/**
 * Estimates how many slots a model's load needs and how long its queue takes. The scaler turns the result into
 * replicas, and the console shows how many slots are missing; both use this arithmetic.
 */

/** Slots suffice when they empty a queue within this time: the default drain bound of gateways. */
const TARGET_WAIT_MS = 30_000

/**
 * Returns the slots that run or will run, by Little's law: requests per second × mean service time. Not rounded. While
 * the service time is unknown, the lower bound counts: the running slots.
 */
export function busySlots(load: { perS: number; running: number; meanMs: number | null }): number {
  return load.meanMs === null ? load.running : Math.max(load.running, (load.perS * load.meanMs) / 1_000)
}

/**
 * Returns the slots that empty the queue within the target wait, not rounded. While the service time is unknown, the
 * upper bound counts: one slot per waiting generation.
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
 * Returns how many more slots are needed to keep up with the requests and to empty the queue within `TARGET_WAIT_MS`; 0
 * if the present slots suffice. Waiting generations for which a slot is free need no further slot: they are claimed at
 * once.
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
 * Returns how long the last generation that waits now will wait, in ms: the generations that no free slot takes,
 * divided by the drain rate. That rate is the larger of the measured one and the rate of full slots. Null if
 * generations wait and nothing drains.
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
