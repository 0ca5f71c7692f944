/**
 * How many slots a model's load asks for and how long its queue takes: one arithmetic for the scaler, which turns it into
 * replicas, and for the console, which shows what is missing.
 */

/** Slots suffice when they empty a queue within this time: the drain bound of gateways by default. */
const TARGET_WAIT_MS = 30_000

/**
 * Slots that run or will run, by Little's law: requests per second × mean service time. Not rounded. Of an unknown service
 * time the least is assumed: those that run.
 */
export function busySlots(load: { perS: number; running: number; meanMs: number | null }): number {
  return load.meanMs === null ? load.running : Math.max(load.running, (load.perS * load.meanMs) / 1_000)
}

/**
 * Slots that empty the queue within the target wait, not rounded. Of an unknown service time the most is assumed: one slot
 * each, which is also the bound.
 */
export function queueSlots(queue: { waiting: number; meanMs: number | null; targetWaitMs: number }): number {
  return queue.meanMs === null
    ? queue.waiting
    : queue.waiting * Math.min(1, queue.meanMs / queue.targetWaitMs)
}

/** What is known of one model; rates per second. */
export type SlotLoad = {
  readonly waiting: number
  readonly running: number
  readonly slots: number
  readonly askedPerS: number
  readonly endsPerS: number
  readonly meanMs: number | null
}

/**
 * How many more slots keep up with what is asked and empty the queue within `TARGET_WAIT_MS`; 0 where the present ones
 * do. What waits beside free slots is claimed at once and needs none.
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
 * How long the last of what waits now will wait, in ms: what no free slot takes, over the larger of the measured drain
 * and that of full slots. Null where something waits and nothing drains.
 */
export function expectedWaitMs({ waiting, running, slots, endsPerS, meanMs }: SlotLoad): number | null {
  const beyondFree = Math.max(0, waiting - freeSlots(slots, running))
  if (beyondFree === 0) return 0
  const ofSlotsPerS = meanMs === null || meanMs <= 0 ? 0 : (slots * 1_000) / meanMs
  const drainPerS = Math.max(endsPerS, ofSlotsPerS)
  return drainPerS === 0 ? null : (beyondFree / drainPerS) * 1_000
}

/** A need of 2.000000001 slots is one of 2: the excess is the rounding of floating-point products. */
const ROUNDING = 1e-9

const freeSlots = (slots: number, running: number) => Math.max(0, slots - running)
