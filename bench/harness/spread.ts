/**
 * The spread of one figure over all rounds. The machine has other work, so a single number would suggest too much
 * precision.
 */
export type Spread = { readonly min: number; readonly median: number; readonly max: number }

export function toSpread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  return { min: quantile(sorted, 0), median: quantile(sorted, 0.5), max: quantile(sorted, 1) }
}

/** Returns a quantile of ascending values; throws if there are none. */
export function quantile(sorted: readonly number[], at: number): number {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))]
  if (value === undefined) throw new Error('nothing was measured')
  return value
}
