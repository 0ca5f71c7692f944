import { monitorEventLoopDelay } from 'node:perf_hooks'

export type LoopDelay = {
  /** The 99th percentile of the event loop's delay over the last complete window of 5 s, or the first one so far; in ms. */
  p99Ms(): number
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
  let ticks = 0
  let completeMs: number | null = null

  const readMs = () => (monitor.count === 0 ? 0 : Math.max(0, monitor.percentile(99) / 1e6 - RESOLUTION_MS))

  return {
    p99Ms: () => completeMs ?? readMs(),
    tick() {
      ticks += 1
      if (ticks % WINDOW_TICKS !== 0) return
      completeMs = readMs()
      monitor.reset()
    },
    close: () => void monitor.disable(),
  }
}
