import type { Redis } from 'ioredis'
import { vectorsKey, writeVectors } from '#libs/event-bus/vectors.ts'
import type { RunningGeneration } from '../running-generations.ts'
import { createFairLimit } from './fair-limit.ts'

/** Delivers the vectors of inputs, `first` being the index of the first; rejects when the run is stopped. */
export type DeliverVectors = (
  run: RunningGeneration,
  first: number,
  vectors: readonly Float32Array[],
) => Promise<void>

/** A gateway that is alive takes vectors within milliseconds. */
const TAKE_WITHIN_MS = 10_000
/** Chunks of one worker on the bus at once: all gateways share its memory. */
const MOST_UNTAKEN = 8

/**
 * Writes vectors to the bus, announces them to the gateway, and waits until it reports that it has them. So a
 * generation ends, and is charged, only when its gateway has all of its vectors, and the bus's memory is bounded.
 */
export function createDeliverVectors(deps: { redis: Redis; takeWithinMs?: number }): {
  deliver: DeliverVectors
  /** Call it when a gateway reports that it has the vectors of this key. */
  noteTaken(key: string): void
} {
  const { redis, takeWithinMs = TAKE_WITHIN_MS } = deps
  const untaken = new Map<string, () => void>()
  const limit = createFairLimit(MOST_UNTAKEN)

  async function untilTaken(key: string, signal: AbortSignal, announce: () => void) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = () => reject(new Error('stopped while its vectors were delivered'))
    const timer = setTimeout(
      () => reject(new Error(`its gateway did not take vectors within ${takeWithinMs} ms`)),
      takeWithinMs,
    )
    signal.addEventListener('abort', stop)
    // Before the announcement, or the answer could come first.
    untaken.set(key, resolve)
    try {
      announce()
      await promise
    } finally {
      untaken.delete(key)
      signal.removeEventListener('abort', stop)
      clearTimeout(timer)
    }
  }

  return {
    async deliver(run, first, vectors) {
      await limit.join()(async () => {
        run.signal.throwIfAborted()
        const { gateway, stream } = run.job
        const key = vectorsKey({ gateway, stream, epoch: run.epoch, first })
        try {
          await writeVectors(redis, key, vectors)
          run.signal.throwIfAborted()
          await untilTaken(key, run.signal, () =>
            run.send({ type: 'vectors-ready', first, count: vectors.length }, []),
          )
        } catch (error) {
          // The gateway will not take it any more; if this fails too, the key expires.
          redis.del(key).catch(() => undefined)
          throw error
        }
      })
    },
    noteTaken(key) {
      untaken.get(key)?.()
    },
  }
}
