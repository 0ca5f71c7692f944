/**
 * Estimates how long work waits in a model's queue, and how many slots a model's load needs. Gateways admit requests by
 * this arithmetic, the scaler turns the slots into replicas, and the console shows the wait and the missing slots.
 */

/**
 * A model is busy for a request if the engines need longer than this for the work before it. The default of gateways,
 * and the bound by which the console counts missing slots.
 */
export const DRAIN_BOUND_MS = 30_000

/** How fast a model's engines take work from its queue. Work is counted in generations or in tokens. */
export type Drain = {
  /** The work that begins at once, because slots are free for it. */
  readonly free: number
  /** The work that the engines take in a millisecond while all slots are busy. */
  readonly perMs: number
}

/** Returns how long the last of the queued work waits, in ms; null if work waits and the engines take none. */
export function expectedWaitMs(queued: number, { free, perMs }: Drain): number | null {
  const beyondFree = Math.max(0, queued - free)
  if (beyondFree === 0) return 0
  return perMs > 0 ? beyondFree / perMs : null
}

/** Returns the most work that can be queued so that `expectedWaitMs` is at most `waitMs`. */
export function mostQueued(waitMs: number, { free, perMs }: Drain): number {
  return free + waitMs * perMs
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
 * Returns how fast generations leave the queue. The rate is the larger of two rates:
 * - the measured rate at which generations end;
 * - slots ÷ mean service time, the rate at which generations end if all slots are busy.
 */
export function toDrain({ running, slots, endsPerS, meanMs }: SlotLoad): Drain {
  const ofSlotsPerMs = meanMs === null || meanMs <= 0 ? 0 : slots / meanMs
  return { free: Math.max(0, slots - running), perMs: Math.max(endsPerS / 1_000, ofSlotsPerMs) }
}

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
 * Returns the slots that empty the queue within the target wait, not rounded: the waiting generations ÷ the generations
 * that one slot takes within that time, which count as at least 1. While the service time is unknown, the result is one
 * slot per waiting generation, which is an upper bound.
 */
export function queueSlots(queue: { waiting: number; meanMs: number | null; targetWaitMs: number }): number {
  const { waiting, meanMs, targetWaitMs } = queue
  if (meanMs === null) return waiting
  return waiting / Math.max(1, mostQueued(targetWaitMs, { free: 0, perMs: 1 / meanMs }))
}

/**
 * Returns how many more slots are needed to keep up with the requests and to empty the queue within `DRAIN_BOUND_MS`:
 * busy slots + queue slots − present slots, at least 0. A waiting generation for which a slot is free does not count in
 * the queue, because it is claimed at once.
 */
export function shortOfSlots(load: SlotLoad): number {
  const { waiting, running, slots, askedPerS, meanMs } = load
  const beyondFree = Math.max(0, waiting - toDrain(load).free)
  const busy = Math.ceil(busySlots({ perS: askedPerS, running, meanMs }) - ROUNDING)
  const queue = Math.ceil(
    queueSlots({ waiting: beyondFree, meanMs, targetWaitMs: DRAIN_BOUND_MS }) - ROUNDING,
  )
  return Math.max(0, busy + queue - slots)
}

/** Floating-point products make 2.000000001 slots of 2; this excess is ignored. */
const ROUNDING = 1e-9
