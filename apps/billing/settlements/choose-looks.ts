/** The findings of the latest look at a stream; times are by the clock of Redis. */
export type StreamLook = {
  readonly timeMs: number
  /** Time of the newest entry; null: the stream or its consumer group does not exist yet. */
  readonly lastEntryMs: number | null
  /** True if all entries of the stream are committed. */
  readonly isSettled: boolean
}

export type Looks = {
  /** Returns the models whose streams are due for a look. The caller looks at them and calls `note` with each look. */
  due(models: readonly string[]): string[]
  /**
   * Returns true if every round of the sweeper looks at the stream. This is so if entries came lately, if entries are
   * not committed, or if the stream's state is unknown.
   */
  isLively(model: string): boolean
  note(model: string, look: StreamLook): void
  /** Notes that an entry of this model's stream was read. */
  touch(model: string): void
  /** Forgets all looks, so that all streams are looked at in the next round. */
  forget(): void
}

/**
 * A stream is idle once its newest entry is older than this and all of its entries are committed. An idle stream is
 * looked at more rarely. A gateway keeps a settlement until the stream's mark (`SettlementMark`) has passed the time of
 * Redis' latest answer to this settlement. The latest answer may be a little later than the entry, because a gateway
 * may send a settlement again. When the newest entry is this old, the mark has usually passed the times of all answers,
 * so no gateway waits for the mark.
 */
const LIVELY_MS = 10_000

/**
 * The most idle streams that one round of the sweeper looks at. Without this limit, a round would cost more, the more
 * idle models there are.
 */
const MOST_IDLE = 64

/**
 * Chooses the streams that a round of the sweeper (`sweep.ts`) looks at: lively streams in every round, and idle
 * streams in turn, each of them every `idleEveryMs`, but at most `MOST_IDLE` of them in one round. A look at an idle
 * stream can find only three things, and each of them may wait:
 * - The stream is on another Redis server than before.
 * - A gateway waits until the stream's mark (`SettlementMark`) has passed a settlement that the gateway keeps.
 * - A replica of billing has died and has left entries unacknowledged.
 *
 * An overdue hold does not wait for such a look: the sweeper also looks at the streams of the models with overdue
 * holds.
 */
export function createLooks(options: { idleEveryMs: number; monotonicMs: () => number }): Looks {
  const { idleEveryMs, monotonicMs } = options
  const latest = new Map<string, { readonly atMs: number; readonly isLively: boolean }>()

  /**
   * The models of which an entry was read since the latest choice. A look that began before this entry was appended
   * does not show the entry. So the next choice drops the latest looks at the streams of these models.
   */
  const touched = new Set<string>()

  const isLively = (model: string) => latest.get(model)?.isLively ?? true

  return {
    due(models) {
      for (const model of touched) latest.delete(model)
      touched.clear()
      const lively = models.filter(isLively)
      const idle = models
        .map((model) => ({ model, look: latest.get(model) }))
        .filter(({ look }) => look?.isLively === false && monotonicMs() - look.atMs >= idleEveryMs)
        .sort((a, b) => (a.look?.atMs ?? 0) - (b.look?.atMs ?? 0))
        .slice(0, MOST_IDLE)
        .map(({ model }) => model)
      return [...lively, ...idle]
    },
    isLively,
    note(model, { timeMs, lastEntryMs, isSettled }) {
      const isIdle = lastEntryMs !== null && isSettled && timeMs - lastEntryMs > LIVELY_MS
      latest.set(model, { atMs: monotonicMs(), isLively: !isIdle })
    },
    touch: (model) => touched.add(model),
    forget: () => latest.clear(),
  }
}
