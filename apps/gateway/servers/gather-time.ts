import { performance, type EventLoopUtilization } from 'node:perf_hooks'

/** At 200 requests/s six calls then go out together. It adds as much to the first token, at most. */
const GATHER_MS = 30
/** Shares of the time that the event loop is in use. Gathering lowers its use, and must not end by that. */
const BUSY_FROM = 0.35
const IDLE_BELOW = 0.2
const SPAN_MS = 500

/**
 * Returns a function that says how long money calls may wait for others that go out with them, in ms, by how busy this
 * process is. In an idle one a call that waits only loses time. In a busy one most of what a call costs, here, in billing
 * and in PostgreSQL, is the wake-up, which calls that go together share; and so do their lifts and claims after them.
 *
 * The function reads the loop's use when it is called, every 500 ms at most: an idle process has no timer for it.
 */
export function createGatherTime(
  readUse: (since?: EventLoopUtilization) => EventLoopUtilization = (since) =>
    performance.eventLoopUtilization(since),
): () => number {
  let since = readUse()
  let isBusy = false
  return () => {
    const { idle, active, utilization } = readUse(since)
    if (idle + active >= SPAN_MS) {
      since = readUse()
      isBusy = utilization >= (isBusy ? IDLE_BELOW : BUSY_FROM)
    }
    return isBusy ? GATHER_MS : 0
  }
}
