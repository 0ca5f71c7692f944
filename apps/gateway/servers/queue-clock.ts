export type QueueClock = {
  /** Unix ms by the queue Redis' clock. */
  nowMs(): number
  /** The same moment of this process's monotonic clock, in Unix ms by the queue Redis' clock. */
  toQueueMs(ownMs: number): number
  /** Reads the server's clock. Call it every few seconds: clocks drift, and a failover changes them. */
  sync(): Promise<void>
}

/**
 * Holds end at absolute times of the queue Redis, because the sweeper that expires them follows its clock. This process'
 * own wall clock is never compared with it: Redis' time is read, and carried on by the monotonic clock.
 *
 * Redis' clock may step, also by a failover to another server. So this process measures by its monotonic clock alone
 * (how long a generation may last, when a hold is to be extended), and converts a time when it sends one.
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
