import type { GenerationClaimed, GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { Unreadable } from './event-codecs.ts'
import type { ReceivedEntry } from './frame.ts'

/** What the gateway reads of a generation's stream. A loss comes in order, after all that was received before it. */
export type InboxEvent = GenerationEvent | StreamLost
export type StreamLost = { readonly type: 'stream-lost'; readonly reason: LossReason }

/**
 * Why this epoch gives nothing more.
 * - `worker-dead`, `bus-away`, `deadline`, `settled`, `no-worker`, `gateway-stopping`: as the caller of `lose` found.
 * - `frames-lost`: its worker no longer keeps a frame that did not arrive.
 * - `not-running`: its worker does not run it.
 * - `misfit`: its worker did not continue after the ids that are here.
 * - `unreadable`: its worker sent an event that this release does not know.
 */
export type LossReason =
  | 'worker-dead'
  | 'frames-lost'
  | 'not-running'
  | 'misfit'
  | 'unreadable'
  | 'bus-away'
  | 'deadline'
  | 'settled'
  | 'no-worker'
  | 'gateway-stopping'

/**
 * The gateway's end of one generation's stream: events in order, each once, in batches as they arrived. Iteration ends
 * after `close`, never by a loss: `raise` starts the next epoch in the same inbox. One consumer only.
 */
export type StreamInbox = AsyncIterable<readonly InboxEvent[]> & {
  /** The gateway's number for the stream. */
  readonly stream: number
  epoch(): number
  /** Boot id of the worker whose events count in this epoch; null before the first. */
  worker(): string | null
  /** All token ids that were accepted, over all epochs. Later ids do not change the array. */
  ids(): Uint32Array
  /** The record says that this worker claimed the epoch: it is asked each second until something was heard. */
  expect(claim: { readonly worker: string; readonly nonce: string }): void
  /**
   * Starts the next epoch and returns it. From here on nothing of an earlier one is accepted, so the ids that `ids`
   * returns afterwards are final. What was accepted stays readable, except at a `restart`, which drops the ids and
   * every event that was not read yet.
   */
  raise(options: { readonly restart: boolean }): number
  /** Ends the epoch with a `stream-lost` event, unless it is over. */
  lose(reason: LossReason): void
  close(): void
}

/**
 * How an event was met. `gap`: an earlier one is missing, so it is not accepted and must come again. `stray`: it is
 * not part of the current run, and its sender must stop.
 */
export type Acceptance = 'accepted' | 'repeated' | 'gap' | 'stray'

/** The subscriber's side of an inbox. */
export type InboxFeed = {
  accept(entry: ReceivedEntry, worker: string): Acceptance
  /** Passes the events that were accepted since the last call to the consumer, as one batch. */
  deliver(): void
  /** The seq of the last event that was accepted in this epoch. */
  lastSeq(): number
  /** `ended`: this epoch's last event was accepted. */
  state(): 'open' | 'ended' | 'lost'
  /** The worker that this epoch is expected from, before it was heard. */
  expected(): { readonly worker: string; readonly nonce: string } | null
  /** The expected worker does not know the epoch: the second time it is lost. */
  noteUnknown(): void
  /** The expected worker runs the epoch, or may still come to. */
  noteKnown(): void
}

const FIRST_IDS = 64
/** One denial may have overtaken the claim that it denies. */
const DENIALS = 2

type Waiter = (result: IteratorResult<readonly InboxEvent[]>) => void

/**
 * The fence: in an epoch only the first worker that was heard counts, and its first event must say that it continues
 * after exactly the ids that are here.
 *
 * `onClose` is called once. `onStop` is called when the epoch's worker must stop: the epoch is lost, or was raised while
 * its worker may still run it.
 */
export function createStreamInbox(
  stream: number,
  onClose: () => void,
  onStop: (worker: string, epoch: number) => void = () => {},
): { inbox: StreamInbox; feed: InboxFeed } {
  let epoch = 1
  let lastSeq = 0
  let worker: string | null = null
  let expected: { readonly worker: string; readonly nonce: string } | null = null
  let denials = 0
  let after = 0
  let state: 'open' | 'ended' | 'lost' = 'open'
  let ids = new Uint32Array(0)
  let idCount = 0
  let accepted: InboxEvent[] = []
  let ready: InboxEvent[] | null = null
  let waiter: Waiter | null = null
  let closed = false

  function wake() {
    if (waiter === null) return
    const resolve = waiter
    if (ready !== null) {
      const value = ready
      ready = null
      waiter = null
      resolve({ value, done: false })
    } else if (closed) {
      waiter = null
      resolve({ value: undefined, done: true })
    }
  }

  function deliver() {
    if (accepted.length === 0) return
    if (ready === null) ready = accepted
    else for (const event of accepted) ready.push(event)
    accepted = []
    wake()
  }

  /** Does not deliver: the caller may be in the middle of a batch. */
  function end(reason: LossReason) {
    state = 'lost'
    accepted.push({ type: 'stream-lost', reason })
    stopSender()
  }

  function stopSender() {
    const sender = worker ?? expected?.worker
    if (sender !== undefined) onStop(sender, epoch)
  }

  function lose(reason: LossReason) {
    if (state !== 'open' || closed) return
    end(reason)
    deliver()
  }

  function keepIds(more: readonly number[]) {
    if (idCount + more.length > ids.length) {
      const larger = new Uint32Array(Math.max(FIRST_IDS, ids.length * 2, idCount + more.length))
      larger.set(ids.subarray(0, idCount))
      ids = larger
    }
    ids.set(more, idCount)
    idCount += more.length
  }

  function take(event: GenerationEvent | Unreadable, more: readonly number[]) {
    if (event.type === 'unreadable') return end('unreadable')
    if (lastSeq === 1 && !mayBeFirst(event)) return end('misfit')
    if (more.length > 0) keepIds(more)
    accepted.push(event)
    if (endsEpoch(event)) state = 'ended'
  }

  const mayBeFirst = (event: GenerationEvent) =>
    event.type === 'generation-claimed' ? continuesHere(event) : isRefusal(event)
  const continuesHere = (claimed: GenerationClaimed) => claimed.after === after

  const inbox: StreamInbox = {
    stream,
    epoch: () => epoch,
    worker: () => worker,
    ids: () => ids.subarray(0, idCount),
    expect(claim) {
      if (expected?.worker !== claim.worker || expected.nonce !== claim.nonce) denials = 0
      expected = claim
    },
    raise({ restart }) {
      if (state === 'open') stopSender()
      epoch += 1
      lastSeq = 0
      worker = null
      expected = null
      denials = 0
      state = 'open'
      if (restart) {
        // A new array: views of the old one stay as they are.
        ids = new Uint32Array(0)
        idCount = 0
        accepted = []
        ready = null
      }
      after = idCount
      return epoch
    },
    lose,
    close() {
      if (closed) return
      closed = true
      onClose()
      wake()
    },
    [Symbol.asyncIterator]: () => ({
      next() {
        const { promise, resolve } = Promise.withResolvers<IteratorResult<readonly InboxEvent[]>>()
        waiter = resolve
        wake()
        return promise
      },
    }),
  }

  const feed: InboxFeed = {
    accept(entry, sender) {
      if (entry.epoch !== epoch || closed) return 'stray'
      if (worker !== null && worker !== sender) return 'stray'
      if (entry.seq <= lastSeq) return 'repeated'
      if (state !== 'open') return 'stray'
      if (entry.seq !== lastSeq + 1) return 'gap'
      lastSeq = entry.seq
      worker = sender
      take(entry.event, entry.ids)
      return 'accepted'
    },
    deliver,
    lastSeq: () => lastSeq,
    state: () => state,
    expected: () => (worker === null ? expected : null),
    noteUnknown() {
      denials += 1
      if (denials >= DENIALS) lose('not-running')
    },
    noteKnown() {
      denials = 0
    },
  }
  return { inbox, feed }
}

const isRefusal = ({ type }: GenerationEvent) => type === 'generation-declined' || type === 'generation-error'

const endsEpoch = (event: GenerationEvent) => event.type === 'generation-end' || isRefusal(event)
