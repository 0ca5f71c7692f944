/** The pairs of neighbouring tokens that become one, and the order in which they do. */
export type MergeTable = {
  /** Replaces the ids of a word's characters by the ids of the word's tokens. */
  merge(ids: number[]): void
}

/**
 * Creates the table of the pairs of tokens that are merged. `merges` has the form of tokenizer.json: pairs of tokens;
 * earlier pairs are merged first. A pair is two texts or, in older files, one text with a space. Returns null if a pair
 * has another form, or if its tokens or the merged token are not in the vocabulary.
 *
 * The table is a hash table in one block of memory. A vocabulary has hundreds of thousands of pairs; in a Map, each
 * would be an object that every full garbage collection visits.
 */
export function createMergeTable(
  merges: readonly unknown[],
  idOf: (token: string) => number | undefined,
): MergeTable | null {
  const bits = Math.max(4, Math.ceil(Math.log2(1.5 * merges.length)))
  /** Four numbers per place: the left id plus 1, so that 0 means free; the right id; the rank; the merged id. */
  const places = new Uint32Array(4 * 2 ** bits)

  /** Returns the place of this pair, or the free place that it would take. */
  function placeOf(left: number, right: number): number {
    let place = ((Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> (32 - bits)) * 4
    while (places[place] !== 0 && (places[place] !== left + 1 || places[place + 1] !== right)) {
      place = (place + 4) % places.length
    }
    return place
  }

  for (const [rank, merge] of merges.entries()) {
    const [left, right] = toPair(merge)
    const [leftId, rightId, both] = [idOf(left), idOf(right), idOf(left + right)]
    if (leftId === undefined || rightId === undefined || both === undefined) return null
    places.set([leftId + 1, rightId, rank, both], placeOf(leftId, rightId))
  }

  return {
    // Merges the pair with the lowest rank first. If several pairs have this rank, the leftmost is merged first. After
    // each merge all pairs are looked up again, because words are short.
    merge(ids) {
      for (;;) {
        let [at, lowest, result] = [-1, Infinity, 0]
        for (let i = 0; i + 1 < ids.length; i += 1) {
          const place = placeOf(ids[i] ?? 0, ids[i + 1] ?? 0)
          const rank = places[place + 2] ?? 0
          if (places[place] === 0 || rank >= lowest) continue
          ;[at, lowest, result] = [i, rank, places[place + 3] ?? 0]
        }
        if (at === -1) return
        ids.splice(at, 2, result)
      }
    },
  }
}

function toPair(merge: unknown): readonly [string, string] {
  const [left, right]: readonly unknown[] = typeof merge === 'string' ? merge.split(' ') : toArray(merge)
  return [String(left), String(right)]
}

const toArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
