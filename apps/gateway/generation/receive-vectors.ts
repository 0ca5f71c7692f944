import type { Redis } from 'ioredis'
import type { VectorsReady } from '#libs/contracts/generation-event.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { StreamLostError, type StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import { takeVectors, vectorsKey } from '#libs/event-bus/vectors.ts'
import { sendVectorsTaken } from '#libs/event-bus/worker-control.ts'

/** Takes the vectors that an event announces from the bus Redis, and acknowledges them: the worker waits for that. */
export type ReceiveVectors = (
  ready: VectorsReady,
  inbox: StreamInbox,
  model: ModelSpec,
) => Promise<readonly Float32Array[]>

/** Throws a `StreamLostError` where the vectors are gone: the output cannot be completed without them. */
export function createReceiveVectors(deps: { redis: Redis; gateway: string }): ReceiveVectors {
  const { redis, gateway } = deps
  return async ({ first, count }, inbox, { embedding }) => {
    const key = vectorsKey({ gateway, stream: inbox.stream, epoch: inbox.epoch(), first })
    const worker = inbox.worker()
    if (embedding === null || worker === null)
      throw new StreamLostError('vectors without a claim, or of a model without vectors')
    try {
      const vectors = await takeVectors(redis, key, { count, dimensions: embedding.dimensions })
      await sendVectorsTaken(redis, worker, key)
      return vectors
    } catch (cause) {
      throw new StreamLostError('vectors could not be taken', cause)
    }
  }
}
