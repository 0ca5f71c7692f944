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
 * Calls run in order of arrival. Neighbours for which `sameBatch` holds may share a batch. At most `maxWaiting` wait:
 * waiting happens here and not in transactions that hold locks.
 */
export function createLane<Call, Answer>(options: {
  run: (calls: readonly Call[]) => Promise<readonly Answer[]>
  sameBatch: (first: Call, next: Call) => boolean
  maxBatch: number
  maxWaiting: number
  onBatch?: (size: number) => void
}): Lane<Call, Answer> {
  const { run, sameBatch, maxBatch, maxWaiting, onBatch } = options
  type Waiting = { call: Call; resolve: (answer: Answer) => void; reject: (error: unknown) => void }
  const queue: Waiting[] = []
  let running = false

  function takeBatch(first: Waiting): Waiting[] {
    let size = 1
    for (const { call } of queue.slice(1, maxBatch)) {
      if (!sameBatch(first.call, call)) break
      size += 1
    }
    return queue.splice(0, size)
  }

  async function drain() {
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      const batch = takeBatch(first)
      onBatch?.(batch.length)
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
    running = false
  }

  return {
    submit(call) {
      if (queue.length >= maxWaiting) return Promise.reject(new LaneOverloaded(queue.length))
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      queue.push({ call, resolve, reject })
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
