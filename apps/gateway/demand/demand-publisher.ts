/** Decides when this gateway publishes its demand. */
export type DemandPublisher = {
  /** Publishes the demand. Must be called each second. */
  tick(): void
  /**
   * Publishes the demand at once. But if it was published less than 100 ms ago, publishes it when these 100 ms are
   * over; further calls until then have no effect.
   */
  publishSoon(): void
  /** Cancels the message that `publishSoon` has planned, if any. */
  close(): void
}

/** At most ten messages a second, however many requests are refused. */
const PAUSE_MS = 100

/** `publish` sends the present numbers; it must not throw. */
export function createDemandPublisher(deps: { publish: () => void; nowMs: () => number }): DemandPublisher {
  const { publish, nowMs } = deps
  let publishedMs = -Infinity
  let timer: NodeJS.Timeout | null = null

  function publishNow() {
    if (timer !== null) clearTimeout(timer)
    timer = null
    publishedMs = nowMs()
    publish()
  }

  return {
    tick: publishNow,
    publishSoon() {
      if (timer !== null) return
      const pauseMs = publishedMs + PAUSE_MS - nowMs()
      if (pauseMs <= 0) publishNow()
      else timer = setTimeout(publishNow, pauseMs)
    },
    close() {
      if (timer !== null) clearTimeout(timer)
      timer = null
    },
  }
}
