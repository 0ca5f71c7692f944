import type { LossReason } from '#libs/event-bus/stream-inbox.ts'

/** Streams end with an error after the bus has been away for this long. */
const GIVEN_UP_MS = 15_000

/**
 * Ends all streams of this gateway, each with an error, in two cases:
 * - The bus has been away for longer than `GIVEN_UP_MS`, once for each outage of the bus. The bus counts as away until
 *   this process receives its own echo again (the message that it sends to itself each second). After an outage, the
 *   first requests may be served before that echo arrives. If all streams were ended a second time, these requests would
 *   end as well. During the outage no new work begins, because no heartbeat of a worker arrives.
 * - The gateway is stopped and its grace is over (`stop`). Streams are then ended again each second: a stream that was on
 *   its way from one worker to the next, or whose request waited for its reservation, could not be ended before.
 *
 * `tick` must be called each second.
 */
export function createEndAllStreams(deps: {
  busAwayMs: () => number
  loseAll: (reason: LossReason) => void
}): { tick(): void; stop(): void } {
  const { busAwayMs, loseAll } = deps
  let givenUp = false
  let isStopping = false
  return {
    tick() {
      if (isStopping) loseAll('gateway-stopping')
      const awayMs = busAwayMs()
      if (awayMs === 0) givenUp = false
      if (givenUp || awayMs <= GIVEN_UP_MS) return
      givenUp = true
      loseAll('bus-away')
    },
    stop() {
      isStopping = true
      loseAll('gateway-stopping')
    },
  }
}
