/** How long the last starts of an engine took. */
export type StartTimes = {
  add(ms: number): void
  /** How long a start may take: `leastMs`, or three times the 95th percentile of the kept starts if that is more. */
  limitMs(leastMs: number): number
}

const KEPT = 20
const QUANTILE = 0.95
const FACTOR = 3

export function createStartTimes(): StartTimes {
  const kept: number[] = []
  return {
    add(ms) {
      kept.push(ms)
      if (kept.length > KEPT) kept.shift()
    },
    limitMs(leastMs) {
      const sorted = kept.toSorted((a, b) => a - b)
      return Math.max(leastMs, FACTOR * (sorted[Math.ceil(QUANTILE * sorted.length) - 1] ?? 0))
    },
  }
}
