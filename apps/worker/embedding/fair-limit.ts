/** Runs work once there is room and it is this user's turn; the result is the work's own. */
export type RunInTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

export type FairLimit = {
  /** One more user who shares the limit. */
  join(): RunInTurn
}

/**
 * At most `capacity` pieces of work at once, of all users together. Users who wait take turns, one piece each, so
 * that one with thousands does not hold up another with one.
 */
export function createFairLimit(capacity: number): FairLimit {
  let free = capacity
  /** Of each user who waits, what waits; whose turn is next comes first. */
  const turns: (() => void)[][] = []

  async function enter(waiting: (() => void)[]) {
    if (free > 0) {
      free -= 1
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    if (waiting.length === 0) turns.push(waiting)
    waiting.push(resolve)
    await promise
  }

  /** The room goes straight to the next in turn; nobody can slip in between. */
  function leave() {
    const waiting = turns.shift()
    const begin = waiting?.shift()
    if (waiting === undefined || begin === undefined) {
      free += 1
      return
    }
    if (waiting.length > 0) turns.push(waiting)
    begin()
  }

  return {
    join() {
      const waiting: (() => void)[] = []
      return async (work) => {
        await enter(waiting)
        try {
          return await work()
        } finally {
          leave()
        }
      }
    },
  }
}
