export type Slots = {
  running(): number
  capacity(): number
  /** Runs `work` in a slot of its own; it must not reject. The caller waits for `room` first. */
  take(work: () => Promise<void>): void
  /** Resolves when a slot is free. */
  room(): Promise<void>
  /** Resolves when nothing runs. */
  idle(): Promise<void>
}

/** The generations that one engine runs now, bounded by what it can run at once. */
export function createSlots(capacity: number): Slots {
  let running = 0
  let waiters: (() => void)[] = []

  async function waitUntil(condition: () => boolean) {
    while (!condition()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiters.push(resolve)
      await promise
    }
  }

  return {
    running: () => running,
    capacity: () => capacity,
    take(work) {
      running += 1
      void work().finally(() => {
        running -= 1
        const woken = waiters
        waiters = []
        for (const wake of woken) wake()
      })
    },
    room: async () => await waitUntil(() => running < capacity),
    idle: async () => await waitUntil(() => running === 0),
  }
}
