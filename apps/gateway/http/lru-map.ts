type LruMap<Value> = {
  /** Counts as a use. */
  get(name: string): Value | undefined
  set(name: string, value: Value): void
  delete(name: string): void
  clear(): void
}

/** A map of at most `capacity` entries; the one that was used longest ago makes room. */
export function createLruMap<Value>(capacity: number): LruMap<Value> {
  // A Map keeps the order of insertion: an entry that is used is inserted anew, so the first is the oldest.
  const entries = new Map<string, Value>()
  return {
    get(name) {
      const value = entries.get(name)
      if (value !== undefined) {
        entries.delete(name)
        entries.set(name, value)
      }
      return value
    },
    set(name, value) {
      entries.delete(name)
      entries.set(name, value)
      if (entries.size <= capacity) return
      const oldest = entries.keys().next()
      if (!oldest.done) entries.delete(oldest.value)
    },
    delete: (name) => void entries.delete(name),
    clear: () => entries.clear(),
  }
}
