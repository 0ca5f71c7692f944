export type QueueClock = {
  /** Returns the queue Redis' time, in Unix ms. */
  nowMs(): number
  /** Converts a time of this process's monotonic clock to the queue Redis' clock, in Unix ms. */
  toQueueMs(ownMs: number): number
  /**
   * Reads the server's clock. Must be called every few seconds, because clocks drift and a failover changes the server.
   */
  sync(): Promise<void>
}

/**
 * Converts times to the queue Redis' clock. Holds end at absolute times of this clock, because the sweeper that expires
 * holds follows this clock. This process never compares its own wall clock with Redis' clock. It reads Redis' time, and
 * adds the time that its monotonic clock has measured since then.
 *
 * Redis' clock may step, for example at a failover to another server. So this process measures durations only by its
 * monotonic clock: for example the time that a generation may last, and the time after which a hold is extended. It
 * converts a time only when it sends the time to another process.
 */
export async function createQueueClock(redisTimeMs: () => Promise<number>): Promise<QueueClock> {
  let offsetMs = 0
  async function sync() {
    const time = await redisTimeMs()
    offsetMs = time - performance.now()
  }
  await sync()
  const toQueueMs = (ownMs: number) => Math.round(ownMs + offsetMs)
  return { nowMs: () => toQueueMs(performance.now()), toQueueMs, sync }
}
