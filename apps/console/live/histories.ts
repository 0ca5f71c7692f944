import type { Series } from '#libs/live-view/rows.ts'
import { HISTORIES, type HistoryName } from '#libs/live-view/views.ts'
import { createRing, type Ring } from './ring.ts'

export type Values = Readonly<Record<HistoryName, number | null>>

/** The histories of a model, or of the cluster. */
export type Histories = {
  write(unixMs: number, values: Values): void
  /** 10 min by 1 s. */
  short(): Record<HistoryName, Series>
  /** 6 h by 10 s. */
  long(): Record<HistoryName, Series>
  /** What waited, 10 min by 10 s. */
  sparkline(): Series
}

const SHORT = { stepMs: 1_000, length: 600 }
const LONG = { stepMs: 10_000, length: 2_160 }

/** 65 kB. */
export function createHistories(): Histories {
  const [short, long] = [createRings(SHORT), createRings(LONG)]
  return {
    write(unixMs, values) {
      for (const name of HISTORIES) {
        short[name].write(unixMs, values[name])
        long[name].write(unixMs, values[name])
      }
    },
    short: () => readAll(short),
    long: () => readAll(long),
    sparkline: () => short.waiting.read(10),
  }
}

function createRings({ stepMs, length }: typeof SHORT): Record<HistoryName, Ring> {
  const ring = () => createRing(stepMs, length)
  return {
    waiting: ring(),
    running: ring(),
    asked: ring(),
    output: ring(),
    refused: ring(),
    firstToken: ring(),
  }
}

function readAll(rings: Record<HistoryName, Ring>): Record<HistoryName, Series> {
  return {
    waiting: rings.waiting.read(),
    running: rings.running.read(),
    asked: rings.asked.read(),
    output: rings.output.read(),
    refused: rings.refused.read(),
    firstToken: rings.firstToken.read(),
  }
}
