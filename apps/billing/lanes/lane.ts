/** Too much waits in a lane already. Nothing was done. */
export class LaneOverloaded extends Error {
  constructor(waiting: number) {
    super(`${waiting} calls wait already`)
    this.name = 'LaneOverloaded'
  }
}

export type Lane<Call, Answer> = {
  /** Rejects with LaneOverloaded, or with what the batch's run threw. */
  submit(call: Call): Promise<Answer>
  waiting(): number
}

/**
 * Micro-batching: one batch in flight, and whatever arrives meanwhile forms the next one, up to `maxBatch`. So a
 * lone call never lingers and a busy lane commits hundreds of calls at once.
 *
 * A batch has calls of one kind: the oldest call's. Younger ones of that kind overtake calls of other kinds, so that
 * kinds which alternate still make large batches, but never a call about the same subject: those run in order of
 * arrival.
 *
 * Waiting happens here and not in transactions that hold locks, and it is short. A call is refused when
 * - the full batches that wait before it would take longer than `maxWaitMs`, each as long as the latest one did; or
 * - the oldest call has waited longer than `stuckMs`: the batch in flight is stuck.
 * A call that the next batch has room for is therefore refused only while the one in flight is stuck, however slow an
 * earlier batch was. The first batch of all may be slow, since it connects and plans: until it ends only `maxWaiting`
 * bounds the calls that wait, as it does always.
 */
export function createLane<Call, Answer>(options: {
  run: (calls: readonly Call[]) => Promise<readonly Answer[]>
  kindOf: (call: Call) => string
  subjectOf: (call: Call) => string
  maxBatch: number
  maxWaiting: number
  maxWaitMs: number
  stuckMs: number
  /** Of a clock that never goes back. */
  monotonicMs: () => number
  onBatch?: (size: number) => void
}): Lane<Call, Answer> {
  const { run, kindOf, subjectOf, maxBatch, maxWaiting, maxWaitMs, stuckMs, monotonicMs, onBatch } = options
  type Waiting = {
    call: Call
    sinceMs: number
    resolve: (answer: Answer) => void
    reject: (error: unknown) => void
  }
  let queue: Waiting[] = []
  let running = false
  /** How long the latest batch took; null before the first one ended. */
  let latestMs: number | null = null

  function isOverloaded(): boolean {
    if (queue.length >= maxWaiting) return true
    const [oldest] = queue
    if (oldest === undefined || latestMs === null) return false
    const fullBatches = Math.floor(queue.length / maxBatch)
    return monotonicMs() - oldest.sinceMs > stuckMs || fullBatches * latestMs > maxWaitMs
  }

  function takeBatch(oldest: Waiting): Waiting[] {
    const kind = kindOf(oldest.call)
    const batch: Waiting[] = []
    const left: Waiting[] = []
    const leftSubjects = new Set<string>()
    for (const waiting of queue) {
      const { call } = waiting
      if (batch.length < maxBatch && kindOf(call) === kind && !leftSubjects.has(subjectOf(call))) {
        batch.push(waiting)
      } else {
        left.push(waiting)
        leftSubjects.add(subjectOf(call))
      }
    }
    queue = left
    return batch
  }

  async function drain() {
    for (let [oldest] = queue; oldest !== undefined; [oldest] = queue) {
      const batch = takeBatch(oldest)
      onBatch?.(batch.length)
      const startedMs = monotonicMs()
      await runBatch(batch)
      latestMs = monotonicMs() - startedMs
    }
    running = false
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
      if (!running) {
        running = true
        // After the current turn, so that all calls of one message ride together.
        queueMicrotask(() => void drain())
      }
      return promise
    },
    waiting: () => queue.length,
  }
}
