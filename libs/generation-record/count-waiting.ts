import type { Cluster, Redis } from 'ioredis'
import { z } from 'zod'
import { waitingExpiryKey } from '#libs/queue-redis/keys.ts'
import { createRunScript } from './run-script.ts'

export type Waiting = {
  readonly count: number
  /** The time in ms since the arrival of the waiting generation that expires first; null if none waits. */
  readonly oldestMs: number | null
}

/**
 * Returns a function that counts all waiting generations of a model, whatever their requirements. It reads one key of the
 * model, so it works on a Cluster. It rejects when Redis does not answer.
 */
export function createCountWaiting(redis: Redis | Cluster): (model: string) => Promise<Waiting> {
  const run = createRunScript(redis)
  return async (model) => {
    const reply = Reply.parse(await run('count-waiting', [waitingExpiryKey(model)], []))
    const [count, arrival, nowMs] = reply
    const oldestMs = arrival === '' ? null : Math.max(0, nowMs - Number(arrival) / 1_000)
    return { count, oldestMs }
  }
}

const Reply = z.tuple([z.int(), z.string(), z.int()])
