/** Runs work once there is room and it is this user's turn; resolves with the work's result. */
export type RunInTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

export type FairLimit = {
  /** Adds a user who shares the limit. */
  join(): RunInTurn
}

/**
 * At most `capacity` pieces of work at once, of all users together. Users who wait take turns, one piece each, so
 * that one with thousands does not block another with one.
 */
export function createFairLimit(capacity: number): FairLimit {
  let free = capacity
  /** The queues of the users who wait, in the order of their turns. */
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

  /** Passes the room directly to the next in turn, so that no later caller can take it. */
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
