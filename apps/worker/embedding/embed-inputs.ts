import type { EngineClient } from '../engine/engine-client.ts'
import type { RunningGeneration } from '../running-generations.ts'
import type { DeliverVectors } from './deliver-vectors.ts'
import type { FairLimit } from './fair-limit.ts'

/**
 * Embeds a generation's inputs and delivers their vectors in order; resolves when the gateway has them all.
 * `onVector` hears the tokens of each input as it is done. Rejects when one cannot be embedded or delivered, and
 * when the run is told to stop; then all of its engine calls are cancelled.
 */
export type EmbedInputs = (
  run: RunningGeneration,
  inputs: readonly Uint32Array[],
  onVector: (tokens: number) => void,
) => Promise<void>

/** Vectors that travel together: 256 KiB of 1,024 dimensions, 2 MiB of the longest in use (8,192). */
const CHUNK_VECTORS = 64
/** Chunks of one generation in the making: enough to fill an engine, few enough to hold in memory. */
const CHUNKS_AHEAD = 4

/** `limit` is the engine's: all generations share it. */
export function createEmbedInputs(deps: {
  embed: EngineClient['embed']
  limit: FairLimit
  deliver: DeliverVectors
}): EmbedInputs {
  const { embed, limit, deliver } = deps

  return async (run, inputs, onVector) => {
    const leaving = new AbortController()
    const signal = AbortSignal.any([run.signal, leaving.signal])
    const runInTurn = limit.join()

    async function embedOne(promptIds: Uint32Array, index: number): Promise<Float32Array> {
      return await runInTurn(async () => {
        signal.throwIfAborted()
        const requestId = `${run.job.id}-${run.epoch}-${index}`
        const { embedding } = await embed({ requestId, promptIds }, signal)
        // What comes too late to be counted now must not be counted at all.
        signal.throwIfAborted()
        onVector(promptIds.length)
        return embedding
      })
    }

    function begin(first: number): Chunk {
      const chunk = inputs.slice(first, first + CHUNK_VECTORS)
      const vectors = Promise.all(chunk.map((promptIds, at) => embedOne(promptIds, first + at)))
      // Its failure is met when its turn comes, if it comes.
      vectors.catch(() => undefined)
      return { first, vectors }
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
        await deliver(run, chunk.first, await chunk.vectors)
      }
    } finally {
      leaving.abort()
    }
  }
}

type Chunk = { readonly first: number; readonly vectors: Promise<readonly Float32Array[]> }
