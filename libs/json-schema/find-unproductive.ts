/** The alternatives of each rule. Each alternative lists the rules that must derive something, so that it does. */
export type Rules<Key> = ReadonlyMap<Key, readonly (readonly Key[])[]>

/** Returns the rules that derive nothing. The time is linear in the size of `rules`. */
export function findUnproductive<Key>(rules: Rules<Key>): ReadonlySet<Key> {
  const productive = new Set<Key>()
  const waiting: { readonly on: Key; readonly alternative: { readonly key: Key; left: number } }[] = []
  for (const [key, alternatives] of rules) {
    for (const needed of alternatives) {
      const alternative = { key, left: needed.length }
      if (needed.length === 0) productive.add(key)
      for (const on of needed) waiting.push({ on, alternative })
    }
  }
  const waitingOn = Map.groupBy(waiting, ({ on }) => on)
  // The set grows while it is read.
  for (const key of productive) {
    for (const { alternative } of waitingOn.get(key) ?? []) {
      alternative.left -= 1
      if (alternative.left === 0) productive.add(alternative.key)
    }
  }
  return new Set(rules.keys()).difference(productive)
}
