import { emptyBuckets, quantileMs, type TimeBuckets } from '#libs/event-bus/time-buckets.ts'
import type { Quantiles } from '#libs/live-view/rows.ts'
import { round } from './ring.ts'

/** Measures how much a number grows per second. */
export type Rate = {
  add(amount: number): void
  /** Returns the mean over the last `windowMs`, which is rounded to seconds. */
  perS(nowMs: number, windowMs: number): number
}

/** The seconds that are kept, enough for the longest window. */
const KEPT_S = 64

export function createRate(clock: () => number): Rate {
  const seconds = new Float64Array(KEPT_S)
  const bornMs = clock()
  let last = Math.floor(bornMs / 1_000)

  function advance(second: number) {
    for (let next = Math.max(last + 1, second - KEPT_S + 1); next <= second; next += 1)
      seconds[next % KEPT_S] = 0
    last = Math.max(last, second)
  }

  return {
    add(amount) {
      advance(Math.floor(clock() / 1_000))
      const at = last % KEPT_S
      seconds[at] = (seconds[at] ?? 0) + amount
    },
    perS(nowMs, windowMs) {
      advance(Math.floor(nowMs / 1_000))
      // The window includes the current second, which is not over, so the mean may be slightly low.
      const windowS = Math.min(KEPT_S - 1, Math.round(windowMs / 1_000))
      let sum = 0
      for (let second = last; second > last - windowS; second -= 1) {
        if (second >= 0) sum += seconds[second % KEPT_S] ?? 0
      }
      return round(sum / windowS)
    },
  }
}

/** Durations recorded in the last minute. */
export type RecentTimes = {
  add(counts: TimeBuckets): void
  quantiles(nowMs: number): Quantiles
}

const SLOT_MS = 10_000
const SLOTS = 6

export function createRecentTimes(clock: () => number): RecentTimes {
  const slots = new Map<number, TimeBuckets>()

  function drop(present: number) {
    for (const slot of slots.keys()) if (slot <= present - SLOTS) slots.delete(slot)
  }

  return {
    add(counts) {
      const present = Math.floor(clock() / SLOT_MS)
      drop(present)
      const slot = slots.get(present) ?? emptyBuckets()
      addTo(slot, counts)
      slots.set(present, slot)
    },
    quantiles(nowMs) {
      drop(Math.floor(nowMs / SLOT_MS))
      if (slots.size === 0) return { p50: null, p95: null }
      const sum = emptyBuckets()
      for (const slot of slots.values()) addTo(sum, slot)
      return { p50: roundTime(quantileMs(sum, 0.5)), p95: roundTime(quantileMs(sum, 0.95)) }
    },
  }
}

/** Adds in place: it runs for every model of every report, so it creates no objects. */
function addTo(sum: TimeBuckets, counts: TimeBuckets): void {
  for (let index = 0; index < counts.length; index += 1) sum[index] = (sum[index] ?? 0) + (counts[index] ?? 0)
}

const roundTime = (ms: number | null) => (ms === null ? null : round(ms))

/**
 * Returns how much a process's counter has grown since its previous message; 0 if there was no previous message or if
 * the counter restarted.
 */
export function growth(before: number | undefined, now: number): number {
  return before === undefined || now < before ? 0 : now - before
}
