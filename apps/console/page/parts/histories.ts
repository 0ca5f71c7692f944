import type { Series } from '#libs/live-view/rows.ts'
import type { HistoryName } from '#libs/live-view/views.ts'

export type Histories = Readonly<Partial<Record<HistoryName, Series>>>

/**
 * Returns `grown`, the histories that are shown so far, with the values of a delta appended. `given` has the histories
 * of the newest snapshot, and stays the same object until the next snapshot. When a new snapshot has come, the result
 * has the histories of `given` instead, because only snapshots carry whole histories.
 */
export function growHistories(
  given: Histories,
  grown: Histories,
  { at, values }: { at: string; values: Readonly<Partial<Record<HistoryName, number | null>>> },
): Histories {
  const isSnapshot = sources.get(grown) !== given
  const next: Partial<Record<HistoryName, Series>> = {}
  for (const name of NAMES) {
    const series = isSnapshot ? given[name] : grown[name]
    if (series === undefined) continue
    const value = values[name]
    next[name] = isSnapshot || value === undefined ? series : append(series, at, value)
  }
  sources.set(next, given)
  return next
}

const NAMES = ['waiting', 'running', 'asked', 'output', 'refused', 'firstToken'] as const

/** The snapshot's histories from which each result has grown. */
const sources = new WeakMap<Histories, Histories>()

/** Replaces the last value if `at` is in the same step. A later step moves the window. */
function append({ stepMs, until, values }: Series, at: string, value: number | null): Series {
  const steps = Math.floor((Date.parse(at) - Date.parse(until)) / stepMs)
  if (steps <= 0) return { stepMs, until, values: [...values.slice(0, -1), value] }
  const gap = Array.from({ length: Math.min(steps - 1, values.length) }, () => null)
  return {
    stepMs,
    until: new Date(Date.parse(until) + steps * stepMs).toISOString(),
    values: [...values, ...gap, value].slice(-values.length),
  }
}
