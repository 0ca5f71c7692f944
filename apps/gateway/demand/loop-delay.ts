import { monitorEventLoopDelay } from 'node:perf_hooks'

export type LoopDelay = {
  /**
   * Returns the 99th percentile of the event loop's delay over the last complete window of 5 s, in ms; before the end
   * of the first window, over the time so far.
   */
  p99Ms(): number
  /** True if the loop is late, so that this process should merge the events that it receives (`receive-events.ts`). */
  isLate(): boolean
  /** Must be called each second. */
  tick(): void
  close(): void
}

/** Node's monitor uses a timer of this period, and each sample includes the period. */
const RESOLUTION_MS = 20
/** A window has 250 samples, enough for the 99th percentile. */
const WINDOW_TICKS = 5

/** Measures until it is closed. This monitor is separate from the library's own, which each scrape resets. */
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
/**
 * The loop can become late only from this second of a window on. Otherwise a single pause, such as a garbage
 * collection, could make it late. In the first 2 s of a window, one pause raises the mean delay to `LATE_MS` only if it
 * lasts 700 ms.
 */
const JUDGED_FROM_TICKS = 2

/**
 * Decides if the loop is late, from the mean of its delays so far in a window of 5 s. The loop becomes late when this
 * mean is above 10 ms and at least 2 s of the window have passed. It is on time again after a whole window whose mean
 * is below 5 ms.
 *
 * The limit for becoming late is higher than the limit for being on time again. A late process merges events, and this
 * lowers its delay. With a single limit, the lower delay would end the lateness at once.
 */
export function createLateness(): {
  /** `ticks` is the number of seconds of the window that have passed, 1 to 5. */
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
