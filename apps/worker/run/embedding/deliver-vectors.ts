import type { Redis } from 'ioredis'
import { deleteVectors, vectorsKey, writeVectors } from '#libs/event-bus/vectors.ts'
import type { RunningGeneration } from '../running-generation.ts'
import { createFairLimit } from '#libs/fair-share/fair-limit.ts'

/** The vectors of consecutive inputs. */
export type VectorChunk = {
  /** Index of the first input. */
  readonly first: number
  /** The prompt tokens of these inputs. */
  readonly promptTokens: number
  readonly vectors: readonly Float32Array[]
}

/** Rejects with a VectorsNotTaken, or if the run is stopped. */
export type DeliverVectors = (run: RunningGeneration, chunk: VectorChunk) => Promise<void>

/** The gateway did not take vectors in time: the vectors or its answer were lost on the bus. */
export class VectorsNotTaken extends Error {
  constructor(withinMs: number) {
    super(`its gateway did not take vectors within ${withinMs} ms`)
    this.name = 'VectorsNotTaken'
  }
}

/** A gateway that is alive takes vectors within milliseconds. */
const TAKE_WITHIN_MS = 10_000
/** The most chunks of one worker on the bus at once: all gateways share the memory of the bus. */
const MOST_UNTAKEN = 8

/**
 * Writes vectors to the bus, announces them to the gateway, waits until the gateway reports that it has them, and
 * deletes them. So a generation ends only when its gateway has all of its vectors, and the bus's memory is bounded.
 */
export function createDeliverVectors(deps: {
  /** Returns the server of the bus that belongs to a gateway. */
  redisOf: (gateway: string) => Redis
  worker: string
  takeWithinMs?: number
}): {
  deliver: DeliverVectors
  /** Call it when a gateway reports that it has the vectors of this key. */
  noteTaken(key: string): void
} {
  const { redisOf, worker, takeWithinMs = TAKE_WITHIN_MS } = deps
  const untaken = new Map<string, () => void>()
  const limit = createFairLimit(MOST_UNTAKEN)

  async function untilTaken(key: string, signal: AbortSignal, announce: () => void) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = () => reject(new Error('stopped while its vectors were delivered'))
    const timer = setTimeout(() => reject(new VectorsNotTaken(takeWithinMs)), takeWithinMs)
    signal.addEventListener('abort', stop)
    // The key is registered before the announcement, because otherwise the gateway's answer could come first.
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
    async deliver(run, { first, promptTokens, vectors }) {
      await limit.join(run.signal)(async () => {
        run.signal.throwIfAborted()
        const { gateway, stream } = run.job
        const redis = redisOf(gateway)
        const key = vectorsKey({ gateway, worker, stream, epoch: run.epoch, first })
        try {
          await writeVectors(redis, key, vectors)
          run.signal.throwIfAborted()
          await untilTaken(key, run.signal, () =>
            run.send([{ type: 'vectors-ready', first, count: vectors.length, promptTokens }]),
          )
        } finally {
          // The vectors are no longer needed: the gateway has taken them, or the delivery has failed or was stopped.
          // If the deletion fails, the key expires.
          deleteVectors(redis, key).catch(() => undefined)
        }
      })
    },
    noteTaken(key) {
      untaken.get(key)?.()
    },
  }
}
