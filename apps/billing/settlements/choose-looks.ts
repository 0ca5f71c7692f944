/** What the latest look at a stream found, in Redis' time. */
export type StreamLook = {
  readonly timeMs: number
  /** Of the newest entry; null: the stream or its group does not exist yet. */
  readonly lastEntryMs: number | null
  /** Everything that was in it is committed. */
  readonly isSettled: boolean
}

export type Looks = {
  /** Of these models, those to look at now. Then they are looked at, and `note` is called with what was found. */
  due(models: readonly string[]): string[]
  /** Entries come, or came lately, or are not committed, or nothing is known: it is looked at in each round. */
  isLively(model: string): boolean
  note(model: string, look: StreamLook): void
  /** An entry was read. */
  touch(model: string): void
  /** Nothing is known any more: all streams are looked at. */
  forget(): void
}

/**
 * An idle stream is looked at more rarely once its newest entry is this old: by then its mark has passed the answers of
 * all gateways that wait for it, the repeated ones too.
 */
const LIVELY_MS = 10_000

/** The most idle streams in one round, so that a round costs the same for a thousand models as for a hundred. */
const MOST_IDLE = 64

/**
 * Chooses the streams that a round of the sweeper looks at: lively ones always, idle ones each `idleEveryMs` in turn. Of an
 * idle stream there is nothing new: only a change of its Redis server, a gateway that waits for its mark, or entries of
 * another, dead replica, and each of these may wait. A hold that is to expire does not wait for it: the sweeper looks at
 * the streams of such holds by itself.
 */
export function createLooks(options: { idleEveryMs: number; monotonicMs: () => number }): Looks {
  const { idleEveryMs, monotonicMs } = options
  const latest = new Map<string, { readonly atMs: number; readonly isLively: boolean }>()

  /** Since the latest choice. A look that began before must not hide an entry that was read since. */
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
