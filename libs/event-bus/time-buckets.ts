/**
 * These functions count durations in fixed buckets from 1 ms to 17 min. There are four buckets for each doubling of the
 * duration. Each process counts from its start on and reports its counts. A reader adds the counts of many processes,
 * and computes quantiles from the difference between two reports.
 */

const PER_DOUBLING = 4
const BUCKETS = 20 * PER_DOUBLING + 1

/** One count for each bucket. */
export type TimeBuckets = number[]

export const emptyBuckets = (): TimeBuckets => Array.from({ length: BUCKETS }, () => 0)

/** Counts one duration. Durations beyond the last bucket count in it. */
export function countTime(buckets: TimeBuckets, ms: number): void {
  const index = ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms) * PER_DOUBLING))
  buckets[index] = (buckets[index] ?? 0) + 1
}

/**
 * Returns a duration, in ms, that the fraction `part` of the counted durations does not exceed. Between 1 ms and 17
 * min, the result is at most 19 % above the true quantile. Returns null if no duration was counted.
 */
export function quantileMs(buckets: readonly number[], part: number): number | null {
  const all = buckets.reduce((sum, count) => sum + count, 0)
  if (all <= 0) return null
  let below = 0
  for (const [index, count] of buckets.entries()) {
    below += count
    if (below >= all * part) return 2 ** (index / PER_DOUBLING)
  }
  return null
}

/** Packs the buckets that are not empty: index, count, index, count, … */
export function packBuckets(buckets: readonly number[]): number[] {
  return buckets.flatMap((count, index) => (count === 0 ? [] : [index, count]))
}

/** Restores packed buckets. Entries that do not fit the form are left out. */
export function unpackBuckets(packed: readonly number[]): TimeBuckets {
  const buckets = emptyBuckets()
  for (let at = 0; at + 1 < packed.length; at += 2) {
    const [index = 0, count = 0] = [packed[at], packed[at + 1]]
    if (Number.isInteger(index) && index >= 0 && index < BUCKETS) buckets[index] = count
  }
  return buckets
}
