import { toInterval, toTimestamp } from './database-time.ts'

/** One observation of a settlement stream. Times are by the clock of the stream's Redis server. */
export type ObservedStream = {
  readonly model: string
  readonly runId: string
  readonly observedAtMs: number
  readonly lastId: { readonly ms: bigint; readonly seq: bigint }
  /**
   * The time up to which billing has committed all settlements of the stream (`SettledUntil`). Null if this time is
   * unknown, or if the watermark need not move.
   */
  readonly settledUntilMs: number | null
  /**
   * Read from Redis: the time of the latest observation that this database has recorded. Null if Redis has no such
   * time.
   */
  readonly confirmedMs: number | null
}

/** The clock of a stream's Redis server jumped by `byMs` (negative: back), to `timeMs`. */
export type ClockJump = { readonly model: string; readonly timeMs: number; readonly byMs: number }

/** The state of a stream in the database after an observation. */
export type RecordedStream = {
  readonly model: string
  /** The time of the latest observation that the database has recorded; null if there is none. */
  readonly recordedMs: number | null
  /**
   * Not null if the database was set back to an earlier state: the observation whose time is
   * `ObservedStream.confirmedMs` is missing there. The new observation is then not recorded.
   */
  readonly forgotten: {
    /** Redis time since which settlements may be lost; null: all settlements may be lost. */
    readonly fromMs: number | null
  } | null
}

/** A row of `note_observations`. */
export type RecordedRow = {
  model: string
  recorded: Date | null
  is_forgotten: boolean
  replay_from: Date | null
}

/** The parameters of `note_observations`. */
export function toObservations(
  streams: readonly ObservedStream[],
  freezeMs: number,
): Readonly<Record<string, unknown>> {
  const toTime = (timeMs: number | null) => (timeMs === null ? null : toTimestamp(timeMs))
  return {
    models: streams.map(({ model }) => model),
    runs: streams.map(({ runId }) => runId),
    observed: streams.map(({ observedAtMs }) => toTimestamp(observedAtMs)),
    settled_until: streams.map(({ settledUntilMs }) => toTime(settledUntilMs)),
    last_ids_ms: streams.map(({ lastId }) => lastId.ms.toString()),
    last_ids_seq: streams.map(({ lastId }) => lastId.seq.toString()),
    confirmed: streams.map(({ confirmedMs }) => toTime(confirmedMs)),
    freeze_for: toInterval(freezeMs),
  }
}

export function toRecorded(row: RecordedRow): RecordedStream {
  return {
    model: row.model,
    recordedMs: row.recorded?.getTime() ?? null,
    forgotten: row.is_forgotten ? { fromMs: row.replay_from?.getTime() ?? null } : null,
  }
}
