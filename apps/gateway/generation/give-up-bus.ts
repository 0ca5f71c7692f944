/** Streams end with an error after the bus has been away for this long. */
const GIVEN_UP_MS = 15_000

/**
 * Ends all streams when the bus has been away for longer than `GIVEN_UP_MS`, once for each outage of the bus. The bus
 * counts as away until this process receives its own echo again (the message that it sends to itself each second).
 * After an outage, the first requests may be served before that echo arrives. If all streams were ended a second time,
 * these requests would end as well. During the outage no new work begins, because no heartbeat of a worker arrives.
 * Must be called each second.
 */
export function createGiveUpBus(busAwayMs: () => number, loseAll: () => void): () => void {
  let givenUp = false
  return () => {
    const awayMs = busAwayMs()
    if (awayMs === 0) givenUp = false
    if (givenUp || awayMs <= GIVEN_UP_MS) return
    givenUp = true
    loseAll()
  }
}
