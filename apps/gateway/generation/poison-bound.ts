export type PoisonBound = {
  /** A request of this key ended because engines died of it, at our cost. */
  note(keyId: string): void
  isBarred(keyId: string): boolean
}

/** Each of them has cost two engines. */
const MOST_POISONS = 3
const WITHIN_MS = 10 * 60_000
const MOST_KEYS = 1_000

/**
 * Bounds what a key may break. A request that kills engines ends after its second engine, free of charge; a key that
 * sent three of them within ten minutes is refused with `model_busy` until the first is ten minutes ago.
 */
export function createPoisonBound(nowMs: () => number): PoisonBound {
  const notedMs = new Map<string, number[]>()
  const recent = (keyId: string) => (notedMs.get(keyId) ?? []).filter((ms) => nowMs() - ms < WITHIN_MS)
  return {
    note(keyId) {
      if (notedMs.size >= MOST_KEYS) notedMs.clear()
      notedMs.set(keyId, [...recent(keyId), nowMs()].slice(-MOST_POISONS))
    },
    isBarred: (keyId) => notedMs.has(keyId) && recent(keyId).length >= MOST_POISONS,
  }
}
