/** Draws that depend on a seed alone. */
export type Random = {
  /** Returns a number in [0, 1). */
  unit(): number
  /** Returns a whole number from `from` up to and including `to`. */
  int(from: number, to: number): number
  pick<Value>(values: readonly Value[]): Value
  chance(probability: number): boolean
  /** Returns a separate sequence. Drawing from one sequence does not change another. */
  fork(label: string): Random
}

/** The algorithm is mulberry32. Its seed is a hash of seed and label. */
export function createRandom(seed: number, label = ''): Random {
  let state = hash(`${seed}/${label}`)

  function unit() {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  const int = (from: number, to: number) => from + Math.floor(unit() * (to - from + 1))
  return {
    unit,
    int,
    pick(values) {
      const value = values[int(0, values.length - 1)]
      if (value === undefined) throw new Error('nothing to pick from')
      return value
    },
    chance: (probability) => unit() < probability,
    fork: (inner) => createRandom(seed, `${label}/${inner}`),
  }
}

/** The algorithm is FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value | 0
}
