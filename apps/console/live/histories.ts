import type { Series } from '#libs/live-view/rows.ts'
import { HISTORIES, LONG_HISTORIES, type HistoryName, type LongHistoryName } from '#libs/live-view/views.ts'
import { createRing } from './ring.ts'

export type Values = Readonly<Record<HistoryName, number | null>>

/** The histories of one model, or of the whole cluster. */
export type Histories = {
  write(unixMs: number, values: Values): void
  /** The last 10 min in steps of 1 s. */
  short(): Record<HistoryName, Series>
  /** The last 6 h in steps of 10 s. */
  long(): Record<LongHistoryName, Series>
  /** Waiting requests of the last 10 min in steps of 10 s. */
  sparkline(): Series
}

const SHORT = { stepMs: 1_000, length: 600 }
const LONG = { stepMs: 10_000, length: 2_160 }

/** Creates empty histories, which take 32 kB. */
export function createHistories(): Histories {
  const toShort = () => createRing(SHORT.stepMs, SHORT.length)
  const toLong = () => createRing(LONG.stepMs, LONG.length)
  const short = {
    waiting: toShort(),
    running: toShort(),
    asked: toShort(),
    output: toShort(),
    refused: toShort(),
    firstToken: toShort(),
  }
  const long = { waiting: toLong(), running: toLong() }
  return {
    write(unixMs, values) {
      for (const name of HISTORIES) short[name].write(unixMs, values[name])
      for (const name of LONG_HISTORIES) long[name].write(unixMs, values[name])
    },
    short: () => ({
      waiting: short.waiting.read(),
      running: short.running.read(),
      asked: short.asked.read(),
      output: short.output.read(),
      refused: short.refused.read(),
      firstToken: short.firstToken.read(),
    }),
    long: () => ({ waiting: long.waiting.read(), running: long.running.read() }),
    sparkline: () => short.waiting.read(10),
  }
}
