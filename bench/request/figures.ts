import { toSpread } from '../harness/spread.ts'
import type { WatchedCommands } from './watch-commands.ts'
import type { Measured } from './measure-load.ts'

/** The figures of all rounds; each list has one figure a round. */
export type Figures = {
  /** By probe and pace, in ms: `ping 50/s`. */
  readonly units: ReadonlyMap<string, readonly number[]>
  /** By load, then by side. */
  readonly loads: ReadonlyMap<string, ReadonlyMap<string, readonly Measured[]>>
}

/** By side: the commands of a while without other measurements, and how many requests finished in it. */
export type CommandFigures = ReadonlyMap<string, { counts: WatchedCommands; finished: number }>

/** Returns one figure of a load for each round; empty when that side did not run. */
export function figuresOf(
  { loads }: Figures,
  [load, side]: readonly [load: string, side: string],
  read: (measured: Measured) => number,
): number[] {
  return (loads.get(load)?.get(side) ?? []).map(read)
}

/** `median [least..most]`; a dash when nothing was measured. */
export function shown(values: readonly number[], digits: number): string {
  if (values.length === 0) return '–'
  const { min, median, max } = toSpread(values)
  return `${median.toFixed(digits)} [${min.toFixed(digits)}..${max.toFixed(digits)}]`
}
