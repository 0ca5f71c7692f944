/** Runs callbacks in the order of their times, and those of one time in the order in which they were added. */
export function createTimers(clock: { ms: number }) {
  /** The last one is the next one. */
  const timers: { atMs: number; run: () => void }[] = []
  return {
    add(afterMs: number, run: () => void) {
      const atMs = clock.ms + afterMs
      let [low, high] = [0, timers.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if ((timers[middle]?.atMs ?? 0) > atMs) low = middle + 1
        else high = middle
      }
      // Timers of one time that were added later come before, so they run later.
      while (low > 0 && timers[low - 1]?.atMs === atMs) low -= 1
      timers.splice(low, 0, { atMs, run })
    },
    runUntil(untilMs: number) {
      for (let next = timers.pop(); next !== undefined && next.atMs <= untilMs; next = timers.pop()) {
        clock.ms = next.atMs
        next.run()
      }
    },
  }
}
