/** Streams end with an error after the bus has been away for so long. */
const GIVEN_UP_MS = 15_000

/**
 * Ends all streams once for each outage of the bus. Only once, because the first requests after an outage are served
 * before this process has received its own echo again. During the outage there is no new work, because no worker is
 * heard. Must be called each second.
 */
export function createGiveUpBus(deps: { busAwayMs: () => number; loseAll: () => void }): () => void {
  let givenUp = false
  return () => {
    const awayMs = deps.busAwayMs()
    if (awayMs === 0) givenUp = false
    if (givenUp || awayMs <= GIVEN_UP_MS) return
    givenUp = true
    deps.loseAll()
  }
}
