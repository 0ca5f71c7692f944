import { toSpread } from './spread.ts'

/** A figure's limit: the median of its values must not be above it, or not below it where `isFloor`. */
export type Bar = {
  readonly title: string
  /** Put after figures and limit, its blank included. */
  readonly unit: string
  readonly bar: number
  readonly stretch?: number
  readonly isFloor?: boolean
  /** One for each round; a bar without any was not measured, and is neither met nor missed. */
  readonly values: readonly number[]
}

/** Prints each median beside its bar; returns whether no bar was missed. */
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

/** Three digits that count. */
function toFigure(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}
