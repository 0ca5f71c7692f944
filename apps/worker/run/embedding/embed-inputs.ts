import type { EngineClient } from '../../engine/engine-client.ts'
import type { RunningGeneration } from '../running-generation.ts'
import type { DeliverVectors } from './deliver-vectors.ts'
import type { FairLimit } from '#libs/fair-share/fair-limit.ts'

/**
 * Embeds a generation's inputs and delivers their vectors in order; resolves when the gateway has them all. Calls
 * `onInput` with the number of tokens of each input that the engine is given, and `onVector` when the engine has
 * embedded it. If an input cannot be embedded or delivered, or if the run is stopped, rejects and cancels all of its
 * engine calls.
 */
export type EmbedInputs = (
  run: RunningGeneration,
  inputs: readonly Uint32Array[],
  on: { readonly onInput: (tokens: number) => void; readonly onVector: () => void },
) => Promise<void>

/** Vectors that are delivered together. With 1,024 dimensions they take 256 KiB; with 8,192, the most in use, 2 MiB. */
const CHUNK_VECTORS = 64
/**
 * A chunk ends with the input that brings it to this many tokens. A gateway that loses the worker, or fails, charges the
 * inputs whose vectors it has; so at most the chunks under way are not charged, however long the inputs are.
 */
const CHUNK_TOKENS = 16_384
/** Chunks of one generation that are embedded at once: enough to fill an engine, few enough for memory. */
const CHUNKS_AHEAD = 4

/** All generations of an engine share `limit`. */
export function createEmbedInputs(deps: {
  embed: EngineClient['embed']
  limit: FairLimit
  deliver: DeliverVectors
}): EmbedInputs {
  const { embed, limit, deliver } = deps

  return async (run, inputs, { onInput, onVector }) => {
    const leaving = new AbortController()
    const signal = AbortSignal.any([run.signal, leaving.signal])
    const runInTurn = limit.join(signal)

    async function embedOne(promptIds: Uint32Array, index: number): Promise<Float32Array> {
      return await runInTurn(async () => {
        signal.throwIfAborted()
        const requestId = `${run.job.id}-${run.epoch}-${index}`
        onInput(promptIds.length)
        const { embedding } = await embed({ requestId, promptIds }, signal)
        // After a stop the run has ended: a late vector must not be counted.
        signal.throwIfAborted()
        onVector()
        return embedding
      })
    }

    function begin(first: number): Chunk {
      const chunk: Uint32Array[] = []
      let promptTokens = 0
      while (chunk.length < CHUNK_VECTORS && promptTokens < CHUNK_TOKENS) {
        const promptIds = inputs[first + chunk.length]
        if (promptIds === undefined) break
        chunk.push(promptIds)
        promptTokens += promptIds.length
      }
      const vectors = Promise.all(chunk.map((promptIds, at) => embedOne(promptIds, first + at)))
      // The promise is awaited later, or never. Until then this prevents an unhandled rejection.
      vectors.catch(() => undefined)
      return { first, count: chunk.length, promptTokens, vectors }
    }

    const making: Chunk[] = []
    let next = 0
    try {
      for (;;) {
        while (making.length < CHUNKS_AHEAD && next < inputs.length) {
          const chunk = begin(next)
          making.push(chunk)
          next += chunk.count
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
  readonly count: number
  readonly promptTokens: number
  readonly vectors: Promise<readonly Float32Array[]>
}
