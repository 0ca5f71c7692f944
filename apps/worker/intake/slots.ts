export type Slots = {
  running(): number
  capacity(): number
  /** Sets the number of slots. Slots that are taken stay taken, also beyond that number. */
  resize(capacity: number): void
  isFree(): boolean
  /** Takes a slot, also beyond the capacity, and returns the function that gives it back. */
  take(): () => void
  /** Resolves when a slot is free. */
  room(): Promise<void>
  /** Resolves when nothing runs. */
  idle(): Promise<void>
}

/**
 * Counts the generations that one engine runs, or that its worker is claiming. The capacity is the number of
 * generations that the engine can run at once.
 */
export function createSlots(initialCapacity: number): Slots {
  let capacity = initialCapacity
  let running = 0
  let waiters: (() => void)[] = []

  async function waitUntil(condition: () => boolean) {
    while (!condition()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiters.push(resolve)
      await promise
    }
  }

  function wakeAll() {
    const woken = waiters
    waiters = []
    for (const wake of woken) wake()
  }

  function leave() {
    running -= 1
    wakeAll()
  }

  const isFree = () => running < capacity

  return {
    running: () => running,
    capacity: () => capacity,
    resize(next) {
      capacity = next
      wakeAll()
    },
    isFree,
    take() {
      running += 1
      let left = false
      return () => {
        if (!left) leave()
        left = true
      }
    },
    room: async () => await waitUntil(isFree),
    idle: async () => await waitUntil(() => running === 0),
  }
}
