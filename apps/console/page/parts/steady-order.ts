/** The interval at which the order is computed again without the viewer's action. */
const EVERY_MS = 10_000

/**
 * Keeps the order of rows that change each second: a moving row cannot be read, and a click may hit the wrong row. The
 * order is computed again when the viewer sorts, and otherwise every 10 s, unless the pointer is over the rows. New
 * rows come last until the order is computed again.
 */
export function createSteadyOrder(nowMs: () => number = () => performance.now()): {
  /** Sorts only when the order is computed again, because comparing hundreds of rows is more work than drawing them. */
  order<Row extends { readonly id: string }>(
    rows: readonly Row[],
    by: { choice: string; sort: (rows: readonly Row[]) => readonly Row[] },
  ): readonly Row[]
  setPointed(isOver: boolean): void
} {
  let places = new Map<string, number>()
  let takenMs = -Infinity
  let taken = ''
  let isPointed = false
  return {
    order(rows, { choice, sort }) {
      const isDue = !isPointed && nowMs() - takenMs >= EVERY_MS
      if (isDue || choice !== taken) {
        const sorted = sort(rows)
        places = new Map(sorted.map(({ id }, index) => [id, index]))
        takenMs = nowMs()
        taken = choice
        return sorted
      }
      const placeOf = (id: string) => places.get(id) ?? Infinity
      return rows.toSorted((a, b) => compare(placeOf(a.id), placeOf(b.id)))
    },
    setPointed(isOver) {
      isPointed = isOver
    },
  }
}

/** Equal values need their own case: the difference of two infinities is NaN. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1
}
