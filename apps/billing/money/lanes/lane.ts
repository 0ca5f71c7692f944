/** Thrown if too many calls wait in the lane. Nothing was done. */
export class LaneOverloaded extends Error {
  constructor(waiting: number) {
    super(`${waiting} calls wait already`)
    this.name = 'LaneOverloaded'
  }
}

export type Lane<Call, Answer> = {
  /** Rejects with LaneOverloaded, or with the error that `run` threw for the batch. */
  submit(call: Call): Promise<Answer>
  waiting(): number
}

/** Settings of a lane with several batches in flight at once. */
export type Parallel<Call> = {
  /** Returns the lock that a call takes while it runs; null: unknown. */
  readonly lockOf: (call: Call) => string | null
  readonly maxBatches: number
  /**
   * While a batch is in flight, another batch starts only if it has at least this many calls. A smaller batch is not
   * worth its fixed cost.
   */
  readonly minCalls: number
}

const ONE_BY_ONE: Parallel<unknown> = { lockOf: () => null, maxBatches: 1, minCalls: 1 }

/**
 * Micro-batching: while a batch is in flight, arriving calls form the next batch, up to `maxBatch`. So a single call
 * runs at once, and a busy lane commits hundreds of calls in one transaction.
 *
 * A batch has calls of one kind, the kind of the oldest call. Younger calls of this kind overtake calls of other kinds,
 * so that alternating kinds still form large batches. Calls about the same subject run in order of arrival, each in a
 * batch of its own.
 *
 * With `parallel` several batches may run at once, so that this process, the database and its disk work at the same
 * time. If at least `2 * minCalls` calls wait or run, a batch takes at most their number divided by `maxBatches`.
 * Beyond this limit it takes only calls that need the same lock as a call in the batch. Two batches in flight have no
 * subject and no known lock in common: otherwise one of them would only wait for the other.
 *
 * Calls wait here and not in transactions with locks, and they wait briefly. A call is refused when
 * - the full batches before it would take longer than `maxWaitMs` together, if each takes as long as the latest batch;
 * - the oldest call has waited longer than `stuckMs`, so a batch in flight is stuck; or
 * - `maxWaiting` calls wait.
 *
 * If `maxWaiting` is at least `maxBatch`, a call that fits into the next batch is refused only while a batch is stuck.
 * The first batch may be slow, because it connects and plans: until it ends, only `maxWaiting` applies.
 */
export function createLane<Call, Answer>(options: {
  run: (calls: readonly Call[]) => Promise<readonly Answer[]>
  kindOf: (call: Call) => string
  subjectOf: (call: Call) => string
  /** Default: one batch at a time. */
  parallel?: Parallel<Call>
  maxBatch: number
  maxWaiting: number
  maxWaitMs: number
  stuckMs: number
  /** A clock that never goes back. */
  monotonicMs: () => number
  onBatch?: (size: number) => void
}): Lane<Call, Answer> {
  const { run, kindOf, subjectOf, maxBatch, maxWaiting, maxWaitMs, stuckMs, monotonicMs, onBatch } = options
  const { lockOf, maxBatches, minCalls } = options.parallel ?? ONE_BY_ONE
  type Waiting = {
    call: Call
    sinceMs: number
    resolve: (answer: Answer) => void
    reject: (error: unknown) => void
  }
  let queue: Waiting[] = []
  let starting = false
  let batchesInFlight = 0
  let callsInFlight = 0
  const subjectsInFlight = new Set<string>()
  const locksInFlight = new Set<string>()
  /** The duration of the latest batch; null before the first one has ended. */
  let latestMs: number | null = null

  function isOverloaded(): boolean {
    if (queue.length >= maxWaiting) return true
    const [oldest] = queue
    if (oldest === undefined || latestMs === null) return false
    const fullBatches = Math.floor(queue.length / maxBatch)
    return monotonicMs() - oldest.sinceMs > stuckMs || fullBatches * latestMs > maxWaitMs
  }

  /** Starts after the current iteration of the event loop, so that all calls of one message are in one batch. */
  function startSoon() {
    if (starting) return
    starting = true
    setImmediate(() => {
      starting = false
      start()
    })
  }

  function start() {
    while (batchesInFlight < maxBatches) {
      const fewest = batchesInFlight === 0 ? 1 : minCalls
      if (queue.length < fewest) return
      const { batch, left } = chooseBatch()
      if (batch.length < fewest) return
      queue = left
      void carryOut(batch)
    }
  }

  function chooseBatch(): { batch: Waiting[]; left: Waiting[] } {
    const calls = queue.length + callsInFlight
    const isWorthSharing = calls >= 2 * minCalls
    const share = isWorthSharing ? Math.min(maxBatch, Math.ceil(calls / maxBatches)) : maxBatch
    let kind: string | undefined
    const batch: Waiting[] = []
    const left: Waiting[] = []
    const batchLocks = new Set<string>()
    const takenSubjects = new Set<string>()
    const leftSubjects = new Set<string>()
    const leftLocks = new Set<string>()
    for (const waiting of queue) {
      const { call } = waiting
      const [subject, lock] = [subjectOf(call), lockOf(call)]
      const hasRoom = batch.length < (lock !== null && batchLocks.has(lock) ? maxBatch : share)
      const mustWait =
        takenSubjects.has(subject) ||
        leftSubjects.has(subject) ||
        subjectsInFlight.has(subject) ||
        (lock !== null && (leftLocks.has(lock) || locksInFlight.has(lock)))
      if (hasRoom && !mustWait && (kind === undefined || kindOf(call) === kind)) {
        kind = kindOf(call)
        batch.push(waiting)
        takenSubjects.add(subject)
        if (lock !== null) batchLocks.add(lock)
      } else {
        left.push(waiting)
        leftSubjects.add(subject)
        if (lock !== null) leftLocks.add(lock)
      }
    }
    return { batch, left }
  }

  async function carryOut(batch: readonly Waiting[]) {
    batchesInFlight += 1
    callsInFlight += batch.length
    const subjects = batch.map(({ call }) => subjectOf(call))
    const locks = batch.map(({ call }) => lockOf(call)).filter((lock) => lock !== null)
    for (const subject of subjects) subjectsInFlight.add(subject)
    for (const lock of locks) locksInFlight.add(lock)
    onBatch?.(batch.length)
    const startedMs = monotonicMs()
    await runBatch(batch)
    latestMs = monotonicMs() - startedMs
    for (const subject of subjects) subjectsInFlight.delete(subject)
    for (const lock of locks) locksInFlight.delete(lock)
    batchesInFlight -= 1
    callsInFlight -= batch.length
    startSoon()
  }

  async function runBatch(batch: readonly Waiting[]) {
    try {
      const answers = await run(batch.map(({ call }) => call))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index]
        if (answer === undefined) reject(new Error('the batch has fewer answers than calls'))
        else resolve(answer)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return {
    submit(call) {
      if (isOverloaded()) return Promise.reject(new LaneOverloaded(queue.length))
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      queue.push({ call, sinceMs: monotonicMs(), resolve, reject })
      startSoon()
      return promise
    },
    waiting: () => queue.length,
  }
}
