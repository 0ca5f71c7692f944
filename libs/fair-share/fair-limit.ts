/** Runs work once there is room and it is this user's turn; resolves with the work's result. */
export type RunInTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

export type FairLimit = {
  /**
   * Adds a user of the limit. Once `signal` aborts, work of this user that still waits is not run, and its promise
   * rejects.
   */
  join(signal: AbortSignal): RunInTurn
}

/**
 * Runs at most `capacity` pieces of work at once, over all users. Users who wait take turns, one piece each, so that a
 * user with thousands of pieces does not block a user with one.
 */
export function createFairLimit(capacity: number): FairLimit {
  let free = capacity
  /** The queues of the users who wait, in the order of their turns. */
  const turns: Waiting[] = []

  async function enter(waiting: Waiting) {
    if (free > 0) {
      free -= 1
      return
    }
    const turn = Promise.withResolvers<void>()
    if (waiting.length === 0) turns.push(waiting)
    waiting.push(turn)
    await turn.promise
  }

  /** Passes the room of ended work directly to the next user in turn, so that no later caller can take it. */
  function leave() {
    const waiting = turns.shift()
    const next = waiting?.shift()
    if (waiting === undefined || next === undefined) {
      free += 1
      return
    }
    if (waiting.length > 0) turns.push(waiting)
    next.resolve()
  }

  function giveUp(waiting: Waiting, reason: unknown) {
    const at = turns.indexOf(waiting)
    if (at >= 0) turns.splice(at, 1)
    for (const { reject } of waiting.splice(0)) reject(reason)
  }

  return {
    join(signal) {
      const waiting: Waiting = []
      signal.addEventListener('abort', () => giveUp(waiting, signal.reason), { once: true })
      return async (work) => {
        signal.throwIfAborted()
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

/**
 * Like a `FairLimit` whose users have names, such as accounts. The returned function runs work in the turn of a user,
 * of whose work at most `capacityOfUser` runs at once.
 */
export function createNamedLimit(
  capacity: number,
  capacityOfUser: number,
): <Result>(name: string, work: () => Promise<Result>) => Promise<Result> {
  const limit = createFairLimit(capacity)
  const users = new Map<string, { readonly run: RunInTurn; readonly runOwn: RunInTurn; open: number }>()
  const join = () => {
    const { signal } = new AbortController()
    return { run: limit.join(signal), runOwn: createFairLimit(capacityOfUser).join(signal), open: 0 }
  }
  return async (name, work) => {
    const user = users.get(name) ?? join()
    users.set(name, user)
    user.open += 1
    try {
      return await user.runOwn(async () => await user.run(work))
    } finally {
      user.open -= 1
      if (user.open === 0) users.delete(name)
    }
  }
}

type Waiting = Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>[]
