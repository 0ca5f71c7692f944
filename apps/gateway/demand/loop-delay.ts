import { monitorEventLoopDelay } from 'node:perf_hooks'

export type LoopDelay = {
  /** The 99th percentile of the event loop's delay over the last complete window of 5 s, or the first one so far; in ms. */
  p99Ms(): number
  /** The loop is late: what this process receives should come in fewer, larger pieces. */
  isLate(): boolean
  /** Call it each second. */
  tick(): void
  close(): void
}

/** Node samples by a timer of this period, and a sample includes the period. */
const RESOLUTION_MS = 20
/** 250 samples: enough for the 99th percentile. */
const WINDOW_TICKS = 5

/** Measures until it is closed. Nothing is measured twice: prom-client's own monitor is reset by each scrape. */
export function createLoopDelay(): LoopDelay {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  monitor.enable()
  const lateness = createLateness()
  let ticks = 0
  let completeMs: number | null = null

  const withoutPeriod = (nanoseconds: number) =>
    monitor.count === 0 ? 0 : Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  const readMs = () => withoutPeriod(monitor.percentile(99))

  return {
    p99Ms: () => completeMs ?? readMs(),
    isLate: lateness.isLate,
    tick() {
      ticks += 1
      lateness.note(withoutPeriod(monitor.mean), ((ticks - 1) % WINDOW_TICKS) + 1)
      if (ticks % WINDOW_TICKS !== 0) return
      completeMs = readMs()
      monitor.reset()
    },
    close: () => void monitor.disable(),
  }
}

const LATE_MS = 10
const ON_TIME_MS = 5
/** One pause, for a garbage collection or by a neighbour, is no lateness: in 2 s it would have to last 700 ms. */
const JUDGED_FROM_TICKS = 2

/**
 * Whether the loop is late, by the mean of its delays so far in a window of 5 s. It is late from 10 ms on, 2 s after the
 * start of a window at the earliest, and on time again after a whole window below 5 ms: what is done about lateness
 * lowers the delay, and must not end by that.
 */
export function createLateness(): {
  /** `ticks`: how many seconds of the window have passed, 1 to 5. */
  note(meanMs: number, ticks: number): void
  isLate(): boolean
} {
  let late = false
  return {
    note(meanMs, ticks) {
      if (meanMs > LATE_MS && ticks >= JUDGED_FROM_TICKS) late = true
      else if (meanMs < ON_TIME_MS && ticks === WINDOW_TICKS) late = false
    },
    isLate: () => late,
  }
}
