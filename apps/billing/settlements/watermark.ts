import { compareStreamIds, type StreamId } from './stream-id.ts'
import type { StreamState, StreamsState } from './settlement-streams.ts'

/** Everything that was settled in Redis until `untilMs` (Redis time) is settled here; all ids up to `upTo`. */
export type SettledUntil = { readonly untilMs: number; readonly upTo: StreamId }

/** What the watermark needs of a look. */
export type StreamProgress = Pick<StreamState, 'lastId' | 'deliveredId' | 'oldestPendingId'>
export type StreamsProgress = Pick<StreamsState, 'runId' | 'timeMs'> & {
  readonly streams: ReadonlyMap<string, StreamProgress | null>
}

export type WatermarkTracker = {
  /** For each model how far its stream is settled for certain; null when not known. */
  judge(state: StreamsProgress): ReadonlyMap<string, SettledUntil | null>
}

/**
 * Finds each stream's watermark from looks at it, one after another.
 *
 * A look gives Redis' time and the last id L. Once everything up to L was delivered and nothing up to L is pending,
 * all that was settled in Redis before that time is settled here, because whatever came later has a greater id. If
 * that holds at once, the watermark is the present; else the look is kept and asked again at the next ones. The last
 * processed id would not do: it stands still in an idle system, and it passes over what another replica still has.
 */
export function createWatermarkTracker(): WatermarkTracker {
  type Look = { readonly runId: string; readonly timeMs: number; readonly lastId: StreamId }
  const open = new Map<string, Look>()

  function judgeStream(
    model: string,
    stream: StreamProgress | null,
    state: StreamsProgress,
  ): SettledUntil | null {
    const earlier = open.get(model)
    open.delete(model)
    if (stream === null) return null
    if (isSettled(stream, stream.lastId)) return { untilMs: state.timeMs, upTo: stream.lastId }
    const look = { runId: state.runId, timeMs: state.timeMs, lastId: stream.lastId }
    // Another server's ids and clock say nothing about this one's.
    if (earlier === undefined || earlier.runId !== state.runId) {
      open.set(model, look)
      return null
    }
    if (!isSettled(stream, earlier.lastId)) {
      open.set(model, earlier)
      return null
    }
    open.set(model, look)
    return { untilMs: earlier.timeMs, upTo: earlier.lastId }
  }

  return {
    judge: (state) =>
      new Map([...state.streams].map(([model, stream]) => [model, judgeStream(model, stream, state)])),
  }
}

/** Everything up to `id` was given to a consumer and acknowledged. */
function isSettled(stream: StreamProgress, id: StreamId): boolean {
  if (compareStreamIds(stream.deliveredId, id) < 0) return false
  return stream.oldestPendingId === null || compareStreamIds(stream.oldestPendingId, id) > 0
}
