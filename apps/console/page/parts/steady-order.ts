/** How often the order may change by itself. */
const EVERY_MS = 10_000

/**
 * Keeps the order of rows that change each second: a row that moves is not read, and a click on it may land on another.
 * The order is taken again when the viewer sorts, and otherwise every 10 s, but not while the pointer is over the rows.
 * New rows come last until then.
 */
export function createSteadyOrder(nowMs: () => number = () => performance.now()): {
  /** Sorts only when the order is taken: the comparisons of hundreds of rows are more work than their drawing. */
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

/** Two rows without a place are equal: the difference of infinities is no number. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1
}
