import { figuresOf, shown, type CommandFigures, type Figures } from './figures.ts'
import type { Measured } from './measure-load.ts'
import { CHAIN } from './start-side.ts'

const SIDES = ['before', 'now'] as const

const ROWS: readonly (readonly [title: string, digits: number, read: (measured: Measured) => number])[] = [
  ['finished per second', 0, (it) => it.perS],
  ['failed or refused', 0, (it) => it.failed],
  ['first token p50, ms', 2, (it) => it.firstTokenMs.p50],
  ['first token p90, ms', 2, (it) => it.firstTokenMs.p90],
  ['whole answer p50, ms', 2, (it) => it.wholeMs.p50],
  ['whole answer p90, ms', 2, (it) => it.wholeMs.p90],
  ...CHAIN.map((part) => [`CPU per request, ${part}, ms`, 2, (it: Measured) => it.cpuMs[part]] as const),
  ['CPU per request, chain, ms', 2, (it) => it.cpuMs.chain],
  ['Redis commands per request', 1, (it) => it.redis.commands / it.finished],
  ['Redis kB in per request', 2, (it) => it.redis.bytesIn / 1_000 / it.finished],
  ['Redis kB out per request', 2, (it) => it.redis.bytesOut / 1_000 / it.finished],
]

export function printProbes({ units }: Figures): void {
  console.log('Units of this machine, p50 in ms')
  for (const [name, values] of units) console.log(`  ${name.padEnd(32)}${shown(values, 2)}`)
}

export function printLoads(figures: Figures): void {
  for (const [load, bySide] of figures.loads) {
    console.log(`Requests, ${load}`)
    console.log(`  ${''.padEnd(32)}${SIDES.map((side) => side.padEnd(30)).join('')}`)
    for (const [title, digits, read] of ROWS) {
      const cells = SIDES.map((side) => shown(figuresOf(figures, [load, side], read), digits).padEnd(30))
      console.log(`  ${title.padEnd(32)}${cells.join('')}`.trimEnd())
    }
    for (const [side, rounds] of bySide) {
      const failure = rounds.find(({ failed }) => failed > 0)?.firstFailure
      if (failure !== undefined) console.log(`  ${side}, the first failure: ${failure}`)
    }
  }
}

/**
 * Prints client commands and, in brackets, the commands that scripts executed. Commands that occur less than once in 50
 * requests are left out.
 */
export function printCommands(commands: CommandFigures): void {
  for (const [side, { counts, finished }] of commands) {
    console.log(`Redis commands per request, ${side}, 50/s under MONITOR`)
    const rows = [...counts].toSorted(([, a], [, b]) => b.calls + b.inside - (a.calls + a.inside))
    for (const [name, { calls, inside }] of rows) {
      if (calls + inside < finished / 50) continue
      const within = inside === 0 ? '' : ` (+ ${(inside / finished).toFixed(2)} inside)`
      console.log(`  ${name.padEnd(32)}${(calls / finished).toFixed(2)}${within}`)
    }
  }
}
