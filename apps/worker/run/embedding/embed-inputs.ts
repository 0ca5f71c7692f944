import type { EngineClient } from '../../engine/engine-client.ts'
import type { RunningGeneration } from '../running-generation.ts'
import type { DeliverVectors } from './deliver-vectors.ts'
import type { FairLimit } from '#libs/fair-share/fair-limit.ts'

/**
 * Embeds a generation's inputs and delivers their vectors in order; resolves when the gateway has them all. After each
 * input that is embedded, calls `onVector` with the number of its tokens. If an input cannot be embedded or delivered,
 * or if the run is stopped, rejects and cancels all of its engine calls.
 */
export type EmbedInputs = (
  run: RunningGeneration,
  inputs: readonly Uint32Array[],
  onVector: (tokens: number) => void,
) => Promise<void>

/** Vectors that are delivered together. With 1,024 dimensions they take 256 KiB; with 8,192, the most in use, 2 MiB. */
const CHUNK_VECTORS = 64
/** Chunks of one generation that are embedded at once: enough to fill an engine, few enough for memory. */
const CHUNKS_AHEAD = 4

/** All generations of an engine share `limit`. */
export function createEmbedInputs(deps: {
  embed: EngineClient['embed']
  limit: FairLimit
  deliver: DeliverVectors
}): EmbedInputs {
  const { embed, limit, deliver } = deps

  return async (run, inputs, onVector) => {
    const leaving = new AbortController()
    const signal = AbortSignal.any([run.signal, leaving.signal])
    const runInTurn = limit.join(signal)

    async function embedOne(promptIds: Uint32Array, index: number): Promise<Float32Array> {
      return await runInTurn(async () => {
        signal.throwIfAborted()
        const requestId = `${run.job.id}-${run.epoch}-${index}`
        const { embedding } = await embed({ requestId, promptIds }, signal)
        // After a stop the run has ended: a late vector must not be counted.
        signal.throwIfAborted()
        onVector(promptIds.length)
        return embedding
      })
    }

    function begin(first: number): Chunk {
      const chunk = inputs.slice(first, first + CHUNK_VECTORS)
      const promptTokens = chunk.reduce((sum, promptIds) => sum + promptIds.length, 0)
      const vectors = Promise.all(chunk.map((promptIds, at) => embedOne(promptIds, first + at)))
      // The promise is awaited later, or never. Until then this prevents an unhandled rejection.
      vectors.catch(() => undefined)
      return { first, promptTokens, vectors }
    }

    const making: Chunk[] = []
    let next = 0
    try {
      for (;;) {
        while (making.length < CHUNKS_AHEAD && next < inputs.length) {
          making.push(begin(next))
          next += CHUNK_VECTORS
        }
        const chunk = making.shift()
        if (chunk === undefined) return
        const { first, promptTokens } = chunk
        await deliver(run, { first, promptTokens, vectors: await chunk.vectors })
      }
    } finally {
      leaving.abort()
    }
  }
}

type Chunk = {
  readonly first: number
  readonly promptTokens: number
  readonly vectors: Promise<readonly Float32Array[]>
}
