import { toSpread } from './spread.ts'

/**
 * The limit of a figure, which applies to the median of the figure's values. It is an upper limit, or a lower limit if
 * `isFloor` is true.
 */
export type Bar = {
  readonly title: string
  /** Printed after the figures and the limit, with a leading blank if it needs one. */
  readonly unit: string
  readonly bar: number
  readonly stretch?: number
  readonly isFloor?: boolean
  /** One value for each round. A bar without values was not measured, and is neither met nor missed. */
  readonly values: readonly number[]
}

/** Prints each median beside its bar. Returns true if no bar was missed. */
export function printBars(bars: readonly Bar[]): boolean {
  console.log('Bars (median over the rounds)')
  let noneMissed = true
  for (const { title, unit, bar, stretch, isFloor = false, values } of bars) {
    const goal = `${isFloor ? '≥' : '≤'} ${bar}${unit}${stretch === undefined ? '' : ` (stretch ${stretch})`}`
    const median = values.length === 0 ? null : toSpread(values).median
    const isMet = median !== null && (isFloor ? median >= bar : median <= bar)
    const sign = median === null ? '–' : isMet ? '✓' : '✗'
    const figure = median === null ? 'not measured' : `${toFigure(median)}${unit}`
    if (sign === '✗') noneMissed = false
    console.log(`  ${sign} ${title.padEnd(46)}${figure.padEnd(20)}${goal}`)
  }
  return noneMissed
}

/** Formats a value with three significant digits. */
function toFigure(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}
