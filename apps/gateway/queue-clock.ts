import { performance } from 'node:perf_hooks'

export type QueueClock = {
  /** Unix ms by the queue Redis' clock. */
  nowMs(): number
  /** Reads the server's clock. Call it every few seconds: clocks drift, and a failover changes them. */
  sync(): Promise<void>
}

/**
 * Deadlines and holds are absolute times of the queue Redis, because the sweeper that expires holds follows its clock.
 * This process' own wall clock is never compared with it: Redis' time is read, and carried on by the monotonic clock.
 */
export async function createQueueClock(redisTimeMs: () => Promise<number>): Promise<QueueClock> {
  let offsetMs = 0
  async function sync() {
    const time = await redisTimeMs()
    offsetMs = time - performance.now()
  }
  await sync()
  return { nowMs: () => Math.round(performance.now() + offsetMs), sync }
}
