import type { StreamObservation, StreamState } from './settlement-streams.ts'
import { compareStreamIds, type StreamId } from './stream-id.ts'

/**
 * The watermark of a stream. Everything that was settled in Redis until `untilMs` (Redis time) is settled in
 * PostgreSQL: all entries of the stream with ids up to `upTo`.
 */
export type SettledUntil = { readonly untilMs: number; readonly upTo: StreamId }

/** The fields of an observation that the watermark needs. */
export type StreamProgress = Pick<StreamState, 'lastId' | 'deliveredId' | 'oldestPendingId'>
export type ObservedProgress = Pick<StreamObservation, 'runId' | 'timeMs'> & {
  readonly stream: StreamProgress | null
}

export type WatermarkTracker = {
  /** Returns how far the model's stream is known to be settled; null: unknown. */
  judge(model: string, observed: ObservedProgress): SettledUntil | null
}

/**
 * Computes each stream's watermark from successive observations.
 *
 * An observation has Redis' time and the stream's last id L. Suppose that all entries up to L were delivered and none
 * of them is pending. Every entry that comes after this time has an id greater than L. So everything that was settled
 * in Redis before this time is settled in PostgreSQL, and the time is the watermark. If entries up to L are not
 * delivered or are pending when the observation is made, the observation is kept and tested again with each later
 * observation. The last processed id cannot serve as watermark: it does not move in an idle system, and another replica
 * may still be working on earlier entries.
 */
export function createWatermarkTracker(): WatermarkTracker {
  type Observation = { readonly runId: string; readonly timeMs: number; readonly lastId: StreamId }
  const open = new Map<string, Observation>()

  return {
    judge(model, { runId, timeMs, stream }) {
      const earlier = open.get(model)
      open.delete(model)
      if (stream === null) return null
      if (isSettled(stream, stream.lastId)) return { untilMs: timeMs, upTo: stream.lastId }
      const observation = { runId, timeMs, lastId: stream.lastId }
      // Ids and clock of another run cannot be compared with this run's.
      if (earlier === undefined || earlier.runId !== runId) {
        open.set(model, observation)
        return null
      }
      if (!isSettled(stream, earlier.lastId)) {
        open.set(model, earlier)
        return null
      }
      open.set(model, observation)
      return { untilMs: earlier.timeMs, upTo: earlier.lastId }
    },
  }
}

/** Returns whether all entries up to `id` were delivered to a consumer and acknowledged. */
function isSettled(stream: StreamProgress, id: StreamId): boolean {
  if (compareStreamIds(stream.deliveredId, id) < 0) return false
  return stream.oldestPendingId === null || compareStreamIds(stream.oldestPendingId, id) > 0
}
