/**
 * The engine deaths of one request with several choices. The choices have one prompt. If this prompt kills engines, each
 * choice kills the engine that gets it, so the deaths count for the request:
 * - A choice that is the suspect of a death counts as a killer if another engine has died while it ran a choice of the
 *   request (`suspects.ts`).
 * - The choices that were present at a death are queued again one at a time. The next one follows when the choice
 *   before it has received a few tokens from its new engine, is complete, or is lost again. Choices that already wait
 *   or run go on.
 * - The request counts once in the number of requests by which an account kills engines (`poison-bound.ts`).
 */
export type ChoiceTrials = {
  /** Notes that the engine of this worker died while it ran a choice. */
  engineDied(worker: string): void
  /** Returns the number of workers whose engines died while they ran a choice. */
  deaths(): number
  /** Returns true at the first call. */
  isFirstKill(): boolean
  /** Resolves when this choice may be queued again. Its turn lasts until `leave`. */
  turn(choice: number): Promise<void>
  /** Ends the turn of this choice, or its wait for a turn. May be called again. */
  leave(choice: number): void
}

export function createChoiceTrials(): ChoiceTrials {
  const workers = new Set<string>()
  /** The choices in the order of their turns. The first one has its turn. */
  let turns: readonly { readonly choice: number; readonly begin: () => void }[] = []
  let isKill = false

  return {
    engineDied: (worker) => void workers.add(worker),
    deaths: () => workers.size,
    isFirstKill() {
      const isFirst = !isKill
      isKill = true
      return isFirst
    },
    async turn(choice) {
      const { promise, resolve } = Promise.withResolvers<void>()
      turns = [...turns, { choice, begin: resolve }]
      turns[0]?.begin()
      await promise
    },
    leave(choice) {
      if (turns.length === 0) return
      turns = turns.filter((turn) => turn.choice !== choice)
      turns[0]?.begin()
    },
  }
}
