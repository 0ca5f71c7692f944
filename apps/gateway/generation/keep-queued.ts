/** Calls `enqueue` again at growing intervals until the returned function is called. */
export type KeepQueued = (enqueue: () => Promise<void>) => () => void

/** A generation that no worker has claimed for this long may have lost its ticket. */
const FIRST_PAUSE_MS = 3_000
const LAST_PAUSE_MS = 48_000

/**
 * A ticket can be lost: its worker died between taking and claiming it, or the queue Redis failed over. Enqueueing
 * is idempotent, so an unclaimed generation is enqueued again, at pauses that double; a record and a ticket that
 * still exist keep their place.
 */
export function createKeepQueued(onFailure: (error: unknown) => void): KeepQueued {
  return (enqueue) => {
    let pauseMs = FIRST_PAUSE_MS
    let timer = setTimeout(again, pauseMs)
    let stopped = false

    function again() {
      enqueue()
        .catch(onFailure)
        .finally(() => {
          if (stopped) return
          pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)
          timer = setTimeout(again, pauseMs)
        })
    }

    return () => {
      stopped = true
      clearTimeout(timer)
    }
  }
}
