import { performance, type EventLoopUtilization } from 'node:perf_hooks'

/**
 * The time for which a busy process gathers calls to billing. At 200 requests/s about six calls are then sent together.
 * The first token is delayed by at most this time.
 */
const GATHER_MS = 30
/**
 * Gathering begins when the event loop is in use for at least `BUSY_FROM` of the time, and ends when it is in use for
 * less than `IDLE_BELOW`. The two shares differ, because gathering itself lowers the use, and this must not end the
 * gathering.
 */
const BUSY_FROM = 0.35
const IDLE_BELOW = 0.2
const SPAN_MS = 500

/**
 * Creates the function that returns the gather time in ms. After a message to billing, further money calls wait for
 * this time, and are then sent in one message. The time is `GATHER_MS` in a busy process, otherwise 0.
 *
 * In an idle process a call that waits only loses time. In a busy process, most of a call's cost is the wake-up of a
 * process: of this process, of billing and of PostgreSQL. Calls that are sent together share these wake-ups. Their
 * generations are then enqueued and claimed together, so the enqueues and claims share wake-ups as well.
 *
 * The function reads the loop's use when it is called, at most every 500 ms, so that an idle process needs no timer.
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
