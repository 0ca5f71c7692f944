const WINDOW_MS = 60_000
const MAX_FAILURES = 10

/** The most addresses that are remembered. When another address is added, the oldest address is forgotten. */
const MAX_ADDRESSES = 10_000

export type AttemptLimit = {
  isBlocked(address: string): boolean
  noteFailure(address: string): void
}

/**
 * Counts the failed sign-ins of each address. A minute begins with the first failure. After ten failures in this
 * minute, the address is blocked until the minute is over.
 */
export function limitAttempts(nowMs: () => number): AttemptLimit {
  const failures = new Map<string, { sinceMs: number; count: number }>()

  function current(address: string): { sinceMs: number; count: number } | undefined {
    const found = failures.get(address)
    if (found === undefined || nowMs() - found.sinceMs < WINDOW_MS) return found
    failures.delete(address)
    return undefined
  }

  return {
    isBlocked: (address) => (current(address)?.count ?? 0) >= MAX_FAILURES,
    noteFailure(address) {
      const found = current(address)
      if (found !== undefined) {
        found.count += 1
        return
      }
      if (failures.size >= MAX_ADDRESSES) {
        const oldest = failures.keys().next().value
        if (oldest !== undefined) failures.delete(oldest)
      }
      failures.set(address, { sinceMs: nowMs(), count: 1 })
    },
  }
}
