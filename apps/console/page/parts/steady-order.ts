/** How often the order may change by itself. */
const EVERY_MS = 10_000

/**
 * Keeps the order of rows that change each second: a row that moves is not read, and a click on it may land on another.
 * The order is taken again when the viewer sorts, and otherwise every 10 s, but not while the pointer is over the rows.
 * New rows come last until then.
 */
export function createSteadyOrder(nowMs: () => number = () => performance.now()): {
  order<Row extends { readonly id: string }>(sorted: readonly Row[], choice: string): readonly Row[]
  setPointed(isOver: boolean): void
} {
  let places = new Map<string, number>()
  let takenMs = -Infinity
  let taken = ''
  let isPointed = false
  return {
    order(sorted, choice) {
      const isDue = !isPointed && nowMs() - takenMs >= EVERY_MS
      if (isDue || choice !== taken) {
        places = new Map(sorted.map(({ id }, index) => [id, index]))
        takenMs = nowMs()
        taken = choice
        return sorted
      }
      const placeOf = (id: string) => places.get(id) ?? Infinity
      return sorted.toSorted((a, b) => compare(placeOf(a.id), placeOf(b.id)))
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
