import type { VectorsReady } from '#libs/contracts/generation-event.ts'
import { vectorsKey } from '#libs/event-bus/vectors.ts'
import { interrupted } from './request/interrupted.ts'
import type { Run } from './generation-run.ts'

/**
 * Reads from the bus Redis the vectors that an event announces. Then acknowledges them to the worker, which waits for
 * the acknowledgement.
 */
export type ReceiveVectors = (
  ready: VectorsReady,
  run: Pick<Run, 'inbox' | 'call' | 'vectors' | 'vectorsReceived'>,
) => Promise<void>

/**
 * Receives the vectors of a generation. A worker that takes a generation over begins with the first input again. So it
 * may send vectors that the gateway already has: the gateway acknowledges these and drops them. If vectors cannot be
 * read, the epoch counts as lost, and the generation goes on elsewhere.
 */
export function createReceiveVectors(deps: {
  /** Rejects if the key is gone or has other vectors. */
  readVectors: (key: string, shape: { count: number; dimensions: number }) => Promise<Float32Array[]>
  gateway: string
  sendTaken: (worker: string, key: string) => Promise<boolean>
}): ReceiveVectors {
  const { readVectors, gateway, sendTaken } = deps
  return async ({ first, count, promptTokens }, run) => {
    const { inbox, call } = run
    const { embedding } = call.model
    const worker = inbox.worker()
    if (embedding === null || worker === null) throw interrupted('no-vectors')
    const key = vectorsKey({ gateway, worker, stream: inbox.stream, epoch: inbox.epoch(), first })
    try {
      if (first >= run.vectorsReceived()) {
        const vectors = await readVectors(key, { count, dimensions: embedding.dimensions })
        run.vectors(vectors, promptTokens)
      }
      await sendTaken(worker, key)
    } catch {
      inbox.lose('frames-lost')
    }
  }
}
