import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { FrameEntry } from './frame.ts'

/** Events of this stream are missing and will not come: a gap in `seq`, a dead worker, a lost end. */
export class StreamLostError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`the stream is lost: ${reason}`, cause === undefined ? undefined : { cause })
    this.name = 'StreamLostError'
  }
}

/**
 * The gateway's end of one generation's stream: events in order, each once, in batches as they arrived.
 *
 * It checks every event's epoch and seq. Iteration ends after `close`; after `fail` it throws a StreamLostError, once
 * the events that had arrived are consumed. One consumer only.
 */
export type StreamInbox = AsyncIterable<readonly GenerationEvent[]> & {
  /** The gateway's number for the stream. */
  readonly stream: number
  /** Boot id of the worker that claimed the current epoch; null before. */
  worker(): string | null
  /** Sets the worker that the record names, before its `generation-claimed` has arrived. */
  assumeWorker(worker: string): void
  epoch(): number
  /** From now on, events of earlier epochs are rejected. */
  expectEpoch(epoch: number): void
  fail(reason: string): void
  close(): void
}

/** The subscriber's side of an inbox. */
export type InboxFeed = {
  /** Accepts an event; returns false when its epoch is over and its sender must stop. */
  accept(entry: FrameEntry): boolean
  /** Passes the events that were accepted since the last call to the consumer, as one batch. */
  deliver(): void
  /** Compares with the worker's own count. Messages are ordered, so an event that has not arrived by now is lost. */
  compare(lastSeq: number): void
}

type Waiter = {
  resolve: (result: IteratorResult<readonly GenerationEvent[]>) => void
  reject: (error: StreamLostError) => void
}

/** `onClose` is called once. */
export function createStreamInbox(
  stream: number,
  onClose: () => void,
): { inbox: StreamInbox; feed: InboxFeed } {
  let epoch = 1
  let lastSeq = 0
  let worker: string | null = null
  let accepted: GenerationEvent[] = []
  let ready: GenerationEvent[] | null = null
  let waiter: Waiter | null = null
  let lost: StreamLostError | null = null
  let closed = false

  function wake() {
    if (waiter === null) return
    const { resolve, reject } = waiter
    if (ready !== null) {
      const value = ready
      ready = null
      waiter = null
      resolve({ value, done: false })
    } else if (lost !== null) {
      waiter = null
      reject(lost)
    } else if (closed) {
      waiter = null
      resolve({ value: undefined, done: true })
    }
  }

  function fail(reason: string) {
    lost ??= new StreamLostError(reason)
    wake()
  }

  const inbox: StreamInbox = {
    stream,
    worker: () => worker,
    assumeWorker(named) {
      worker ??= named
    },
    epoch: () => epoch,
    expectEpoch(next) {
      epoch = next
      lastSeq = 0
      worker = null
    },
    fail,
    close() {
      if (closed) return
      closed = true
      onClose()
      wake()
    },
    [Symbol.asyncIterator]: () => ({
      next() {
        const { promise, resolve, reject } =
          Promise.withResolvers<IteratorResult<readonly GenerationEvent[]>>()
        waiter = { resolve, reject }
        wake()
        return promise
      },
    }),
  }

  const feed: InboxFeed = {
    accept(entry) {
      if (entry.epoch < epoch) return false
      if (entry.epoch > epoch || entry.seq <= lastSeq || lost !== null) return true
      if (entry.seq !== lastSeq + 1) {
        fail(`event ${lastSeq + 1} is missing`)
        return true
      }
      lastSeq = entry.seq
      if (entry.event.type === 'generation-claimed') worker = entry.event.worker
      accepted.push(entry.event)
      return true
    },
    deliver() {
      if (accepted.length === 0) return
      if (ready === null) ready = accepted
      else ready.push(...accepted)
      accepted = []
      wake()
    },
    compare(workerLastSeq) {
      if (workerLastSeq > lastSeq) fail(`event ${lastSeq + 1} is missing`)
    },
  }
  return { inbox, feed }
}
