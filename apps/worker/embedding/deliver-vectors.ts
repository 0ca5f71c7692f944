import type { Redis } from 'ioredis'
import { vectorsKey, writeVectors } from '#libs/event-bus/vectors.ts'
import type { RunningGeneration } from '../running-generations.ts'
import { createFairLimit } from './fair-limit.ts'

/** Resolves when the gateway has taken the vectors of the inputs from `first` on; rejects when the run is stopped. */
export type DeliverVectors = (
  run: RunningGeneration,
  first: number,
  vectors: readonly Float32Array[],
) => Promise<void>

/** Vectors wait on the bus for a moment; a gateway that lives takes them within milliseconds. */
const TAKE_WITHIN_MS = 10_000
/** Chunks that wait on the bus at once, of one worker: it is a memory that all gateways share. */
const MOST_UNTAKEN = 8

/**
 * Puts vectors on the bus, tells the gateway, and waits until it says that it has them. So a generation ends, and
 * is charged, only when its caller's gateway holds all of its vectors, and what waits on the bus is bounded.
 */
export function createDeliverVectors(deps: { redis: Redis; takeWithinMs?: number }): {
  deliver: DeliverVectors
  /** A gateway has taken the vectors of this key. */
  noteTaken(key: string): void
} {
  const { redis, takeWithinMs = TAKE_WITHIN_MS } = deps
  const untaken = new Map<string, () => void>()
  const limit = createFairLimit(MOST_UNTAKEN)

  async function untilTaken(key: string, signal: AbortSignal, tell: () => void) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = () => reject(new Error('told to stop while its vectors were delivered'))
    const timer = setTimeout(
      () => reject(new Error(`its gateway did not take vectors within ${takeWithinMs} ms`)),
      takeWithinMs,
    )
    signal.addEventListener('abort', stop)
    // Expect the answer, then ask for it.
    untaken.set(key, resolve)
    try {
      tell()
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
          // Nobody will take it now; where this fails as well it expires.
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
