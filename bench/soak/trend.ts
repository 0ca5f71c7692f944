import { quantile } from '../harness/spread.ts'

/** The development of a figure over a run. */
export type Trend = {
  readonly median: number
  /** The rise of the least-squares line from the first sample to the last. */
  readonly growth: number
  /**
   * The distance between the 5th and the 95th percentile of the samples' deviations from the least-squares line. A
   * growth smaller than this cannot be seen.
   */
  readonly noise: number
}

/** Returns the trend of samples at even distances; throws for fewer than three. */
export function toTrend(values: readonly number[]): Trend {
  const count = values.length
  if (count < 3) throw new Error('a trend needs three samples')
  const middle = (count - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / count
  let covariance = 0
  let variance = 0
  for (const [index, value] of values.entries()) {
    covariance += (index - middle) * (value - mean)
    variance += (index - middle) ** 2
  }
  const slope = covariance / variance
  const rests = values
    .map((value, index) => value - mean - slope * (index - middle))
    .toSorted((a, b) => a - b)
  return {
    median: quantile(
      values.toSorted((a, b) => a - b),
      0.5,
    ),
    growth: slope * (count - 1),
    noise: quantile(rests, 0.95) - quantile(rests, 0.05),
  }
}
