import { quantile } from '../harness/spread.ts'

/** Prints one line with p50, p99 and maximum. `gapsMs` must be ascending. */
export function printGaps(name: string, gapsMs: readonly number[], bar = ''): void {
  const at = (share: number) => `${quantile(gapsMs, share).toFixed(0)} ms`
  console.log(
    `  ${name.padEnd(44)} p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}${bar && `   (bar: ${bar})`}`,
  )
}
