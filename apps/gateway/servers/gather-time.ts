import { performance, type EventLoopUtilization } from 'node:perf_hooks'

/** At 200 requests/s about six calls are then sent together. The first token is delayed by at most this time. */
const GATHER_MS = 30
/**
 * Shares of the time in which the event loop is in use. They differ, because gathering lowers the use, which must not
 * end the gathering.
 */
const BUSY_FROM = 0.35
const IDLE_BELOW = 0.2
const SPAN_MS = 500

/**
 * Returns a function that returns how long money calls may wait to be sent together with others, in ms, depending on
 * how busy this process is. In an idle process a call that waits only loses time. In a busy process most of a call's
 * cost, here, in billing and in PostgreSQL, is the wake-up. Calls that are sent together share it, and so do their
 * lifts and claims afterwards.
 *
 * The function reads the loop's use when it is called, at most every 500 ms, so that an idle process needs no timer for
 * it.
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
