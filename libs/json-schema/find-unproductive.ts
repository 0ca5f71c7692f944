/**
 * The needs of each symbol of a grammar. A symbol derives something if at least one symbol of each of its clauses derives
 * something. A symbol without clauses derives something by itself. A clause without symbols can never be met.
 */
export type Needs<Key> = ReadonlyMap<Key, readonly (readonly Key[])[]>

/** Returns the symbols that derive nothing. The time is linear in the size of `needs`. */
export function findUnproductive<Key>(needs: Needs<Key>): ReadonlySet<Key> {
  const waiting = new Map<Key, { readonly key: Key; isMet: boolean }[]>()
  const unmet = new Map<Key, number>()
  const productive: Key[] = []
  for (const [key, clauses] of needs) {
    unmet.set(key, clauses.length)
    if (clauses.length === 0) productive.push(key)
    for (const symbols of clauses) {
      const clause = { key, isMet: false }
      for (const symbol of symbols) {
        const known = waiting.get(symbol)
        if (known === undefined) waiting.set(symbol, [clause])
        else known.push(clause)
      }
    }
  }
  // The list grows while it is read.
  for (const key of productive) {
    for (const clause of waiting.get(key) ?? []) {
      if (clause.isMet) continue
      clause.isMet = true
      const left = (unmet.get(clause.key) ?? 0) - 1
      unmet.set(clause.key, left)
      if (left === 0) productive.push(clause.key)
    }
  }
  const found = new Set(productive)
  return new Set([...needs.keys()].filter((key) => !found.has(key)))
}
