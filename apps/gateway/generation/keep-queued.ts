/** Calls `enqueue` again at growing intervals until the returned function is called. */
export type KeepQueued = (enqueue: () => Promise<void>) => () => void

/** A ticket that nobody claimed for this long may be lost. */
const FIRST_LOOK_MS = 3_000
const LAST_PAUSE_MS = 48_000

/**
 * A ticket can vanish: its worker died between taking and claiming it, or a failover of the queue Redis lost
 * it. Opening the record and adding the ticket are idempotent, so a generation that nobody claims is simply
 * queued again, ever more rarely: what is still there stays as it is, in its old place.
 */
export function createKeepQueued(onFailure: (error: unknown) => void): KeepQueued {
  return (enqueue) => {
    let pauseMs = FIRST_LOOK_MS
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
