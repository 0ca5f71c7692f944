import { toSpread } from '../harness/spread.ts'
import type { WatchedCommands } from './watch-commands.ts'
import type { Measured } from './measure-load.ts'

/** The figures of all rounds. Each list has one figure per round. */
export type Figures = {
  /** The times of the probes in ms, by probe and pace, such as `ping 50/s`. */
  readonly units: ReadonlyMap<string, readonly number[]>
  /** The measured loads, by load, then by side. */
  readonly loads: ReadonlyMap<string, ReadonlyMap<string, readonly Measured[]>>
}

/** For each side: the Redis commands in a period without other measurements, and how many requests finished in it. */
export type CommandFigures = ReadonlyMap<string, { counts: WatchedCommands; finished: number }>

/** Returns one figure of a load for each round; empty if that side did not run. */
export function figuresOf(
  { loads }: Figures,
  [load, side]: readonly [load: string, side: string],
  read: (measured: Measured) => number,
): number[] {
  return (loads.get(load)?.get(side) ?? []).map(read)
}

/** Formats values as `median [least..most]`; a dash if nothing was measured. */
export function shown(values: readonly number[], digits: number): string {
  if (values.length === 0) return '–'
  const { min, median, max } = toSpread(values)
  return `${median.toFixed(digits)} [${min.toFixed(digits)}..${max.toFixed(digits)}]`
}
