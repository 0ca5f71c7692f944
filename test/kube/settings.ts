/** Returns how often a test repeats its measurement: the value of the environment variable, or `byDefault`. */
export function repetitions(variable: string, byDefault: number): number {
  const text = process.env[variable]
  if (text === undefined) return byDefault
  if (!/^[1-9]\d{0,4}$/.test(text))
    throw new Error(`${variable}: expected a number from 1 to 99999, got ${text}`)
  return Number(text)
}

/** Returns the value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)]
  if (value === undefined) throw new RangeError('a quantile of no numbers')
  return value
}
