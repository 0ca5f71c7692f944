import type { ChoiceState } from '#libs/contracts/choices.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { Unreadable } from './event-codecs.ts'
import type { ReceivedEntry } from './frame.ts'

/*
 * An inbox is the gateway's end of one generation's stream. It exists through all epochs of the generation; an epoch is
 * one attempt to run it, by one claim. The inbox has the state of the present epoch. Token ids outlive epochs, so that
 * the next worker continues after them. They are kept by choice: an event `choice` says to which choice the ids belong
 * from there on, 0 at the begin of an epoch.
 *
 * WAITING (`open`, no worker)
 *   No event of this epoch was accepted yet. The gateway may know from the record which worker claimed the epoch
 *   (`expect`), and asks that worker each second for its stream.
 *   - Event 1 is a claim that continues exactly after the ids of this inbox: RUNNING, and its sender is the worker.
 *   - Event 1 declines the generation or reports an error: ENDED.
 *   - Event 1 is anything else: LOST as `misfit`.
 *   - A later event comes first: a gap. The event must come again after the missing ones.
 *   - The expected worker answers twice that it does not run the epoch: LOST as `not-running`. One answer is not
 *     enough, because it may have overtaken the claim.
 *
 * RUNNING (`open`, a worker)
 *   Only events of this worker count. Events of any other worker are strays, whose sender must stop: this is the fence.
 *   - The next event in order: accepted. The last event of the epoch: ENDED.
 *   - An event that was accepted before: ignored.
 *   - An event further on: a gap, as above.
 *   - An event that this release cannot read: LOST as `unreadable`.
 *
 * ENDED
 *   The last event was accepted. Events that come again are ignored, other events are strays.
 *
 * LOST
 *   The consumer reads `stream-lost` after all events that were accepted before; the worker is asked to stop.
 *
 * CLOSED
 *   Events that were accepted can still be read, then the iteration ends. Further events are strays.
 *
 * From several states:
 *   - `lose`, from WAITING and RUNNING: LOST, with the caller's reason.
 *   - `raise`, from all but CLOSED: WAITING in the next epoch; a worker that may still run the generation is asked to
 *     stop. With `restart`, the ids of the choices that have not ended are dropped.
 *   - `close`, from all: CLOSED.
 */

/**
 * An event that the gateway reads from a generation's stream. The event `stream-lost` comes in order, after all events
 * that were received before the loss.
 */
export type InboxEvent = GenerationEvent | StreamLost
export type StreamLost = { readonly type: 'stream-lost'; readonly reason: LossReason }

/**
 * The reason for which this epoch brings no more events.
 * - `worker-dead`, `bus-away`, `deadline`, `settled`, `no-worker`, `not-started`, `gateway-stopping`: found by the
 *   caller of `lose`.
 * - `frames-lost`: the worker no longer keeps a frame that did not arrive.
 * - `not-running`: the worker does not run the epoch.
 * - `misfit`: the worker did not continue after the ids of this inbox.
 * - `unreadable`: the worker sent an event that this release does not know.
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
  | 'not-started'
  | 'gateway-stopping'

/**
 * The consumer's side of an inbox. It yields the events in order, each event once, in the batches in which they
 * arrived. The iteration ends after `close`, but not after a loss: `raise` starts the next epoch in the same inbox.
 * Allows only one consumer.
 */
export type StreamInbox = AsyncIterable<readonly InboxEvent[]> & {
  /** The gateway's number for the stream. */
  readonly stream: number
  epoch(): number
  /** Boot id of the worker whose events count in this epoch; null before the first event. */
  worker(): string | null
  /**
   * Returns all token ids that were accepted, over all epochs: the ids of choice 0, then of choice 1, and so on. Later ids
   * do not change the array.
   */
  ids(): Uint32Array
  /** Returns the number of these ids. */
  idCount(): number
  /** Returns how these ids belong to the choices; null if all belong to choice 0, and it has not ended. */
  choices(): readonly ChoiceState[] | null
  /**
   * Sets the worker from which this inbox expects the epoch's events. According to the record, this worker has claimed
   * the epoch. The gateway asks it about the stream each second, until an event arrives.
   */
  expect(claim: { readonly worker: string; readonly nonce: string }): void
  /**
   * Starts the next epoch and returns its number. From here on no event of an earlier epoch is accepted, so earlier
   * epochs add no more token ids to this inbox. The events that were accepted can still be read. With `restart`, the
   * token ids of the choices that have not ended are dropped.
   */
  raise(options: { readonly restart: boolean }): number
  /** Ends the epoch with a `stream-lost` event, unless it is over. */
  lose(reason: LossReason): void
  /**
   * Resolves when this epoch is lost or the inbox is closed. It is meant for a caller that waits before any worker can
   * run the epoch.
   */
  untilOver(): Promise<void>
  close(): void
}

/**
 * How an event was received. `gap`: an earlier event is missing, so this one is not accepted and must come again.
 * `stray`: the event is not accepted, because it has another epoch or another worker, or comes after the end of the
 * epoch or of the inbox. Its sender must stop running the generation.
 */
export type Acceptance = 'accepted' | 'repeated' | 'gap' | 'stray'

/** The subscriber's side of an inbox. */
export type InboxFeed = {
  accept(entry: ReceivedEntry, worker: string): Acceptance
  /**
   * Passes the accepted events to the consumer. All events delivered in one iteration of the event loop form one batch.
   */
  deliver(): void
  /** The seq of the last event that was accepted in this epoch. */
  lastSeq(): number
  /** `ended`: this epoch's last event was accepted. */
  state(): 'open' | 'ended' | 'lost'
  /** The worker that is expected to run this epoch, until its first event arrives. */
  expected(): { readonly worker: string; readonly nonce: string } | null
  /** Records that the expected worker does not know the epoch. At the second call the epoch is lost. */
  noteUnknown(): void
  /** Records that the expected worker runs the epoch, or may still start to run it. */
  noteKnown(): void
}

const FIRST_IDS = 64
const NO_IDS = new Uint32Array(0)
/** Two, because one denial may have overtaken the claim that it denies. */
const DENIALS = 2

type Waiter = (result: IteratorResult<readonly InboxEvent[]>) => void

/**
 * Opens an inbox in its first epoch. `onClose` is called once. `onStop` is called when the epoch's worker must stop:
 * either the epoch was lost, or `raise` was called while its worker may still run.
 */
export function createStreamInbox(
  stream: number,
  onClose: () => void,
  onStop: (worker: string, epoch: number) => void = () => {},
): { inbox: StreamInbox; feed: InboxFeed } {
  const both = new Inbox(stream, onClose, onStop)
  return { inbox: both, feed: both }
}

type Claim = { readonly worker: string; readonly nonce: string }

/** A class, because a gateway has one inbox for each open stream, and twenty closures instead would take 1.3 KB. */
class Inbox implements StreamInbox, InboxFeed {
  readonly stream: number
  readonly #onClose: () => void
  readonly #onStop: (worker: string, epoch: number) => void
  #epoch = 1
  #lastSeq = 0
  #worker: string | null = null
  #expected: Claim | null = null
  #denials = 0
  #after = 0
  #state: 'open' | 'ended' | 'lost' = 'open'
  readonly #choices: [ChoiceIds, ...ChoiceIds[]] = [new ChoiceIds()]
  /** The choice to which the next ids belong. */
  #present = this.#choices[0]
  #idCount = 0
  #accepted: InboxEvent[] = []
  #ready: InboxEvent[] | null = null
  #waiter: Waiter | null = null
  #over: PromiseWithResolvers<void> | null = null
  #closed = false

  constructor(stream: number, onClose: () => void, onStop: (worker: string, epoch: number) => void) {
    this.stream = stream
    this.#onClose = onClose
    this.#onStop = onStop
  }

  epoch() {
    return this.#epoch
  }

  worker() {
    return this.#worker
  }

  ids() {
    const [first, ...others] = this.#choices
    if (others.length === 0) return first.all()
    const all = new Uint32Array(this.#idCount)
    let at = 0
    for (const { ids, count } of this.#choices) {
      all.set(ids.subarray(0, count), at)
      at += count
    }
    return all
  }

  idCount() {
    return this.#idCount
  }

  choices() {
    const [first, ...others] = this.#choices
    if (others.length === 0 && !first.ended) return null
    return this.#choices.map(({ count, ended }) => ({ count, ended }))
  }

  expect(claim: Claim) {
    if (this.#expected?.worker !== claim.worker || this.#expected.nonce !== claim.nonce) this.#denials = 0
    this.#expected = claim
  }

  raise({ restart }: { readonly restart: boolean }) {
    if (this.#state === 'open') this.#stopSender()
    this.#epoch += 1
    this.#lastSeq = 0
    this.#worker = null
    this.#expected = null
    this.#denials = 0
    this.#state = 'open'
    if (restart) for (const choice of this.#choices) choice.restart()
    this.#present = this.#choices[0]
    this.#idCount = this.#choices.reduce((sum, { count }) => sum + count, 0)
    this.#after = this.#idCount
    return this.#epoch
  }

  lose(reason: LossReason) {
    if (this.#state !== 'open' || this.#closed) return
    this.#end(reason)
    this.deliver()
  }

  async untilOver() {
    if (this.#closed || this.#state !== 'open') return
    this.#over ??= Promise.withResolvers()
    await this.#over.promise
  }

  close() {
    if (this.#closed) return
    this.#closed = true
    this.#over?.resolve()
    this.#onClose()
    this.#wake()
  }

  [Symbol.asyncIterator]() {
    return {
      // This is not an async function, because an async function would make a second promise for each batch.
      next: () => {
        const { promise, resolve } = Promise.withResolvers<IteratorResult<readonly InboxEvent[]>>()
        this.#waiter = resolve
        this.#wake()
        return promise
      },
    }
  }

  accept(entry: ReceivedEntry, sender: string): Acceptance {
    if (entry.epoch !== this.#epoch || this.#closed) return 'stray'
    if (this.#worker !== null && this.#worker !== sender) return 'stray'
    if (entry.seq <= this.#lastSeq) return 'repeated'
    if (this.#state !== 'open') return 'stray'
    if (entry.seq !== this.#lastSeq + 1) return 'gap'
    this.#lastSeq = entry.seq
    this.#worker = sender
    this.#take(entry.event, entry.ids)
    return 'accepted'
  }

  deliver() {
    if (this.#accepted.length === 0) return
    if (this.#ready === null) this.#ready = this.#accepted
    else for (const event of this.#accepted) this.#ready.push(event)
    this.#accepted = []
    // All events that one read of the bus brings form one batch, and so one write to the caller.
    if (this.#waiter !== null) queueMicrotask(() => this.#wake())
  }

  lastSeq() {
    return this.#lastSeq
  }

  state() {
    return this.#state
  }

  expected() {
    return this.#worker === null ? this.#expected : null
  }

  noteUnknown() {
    this.#denials += 1
    if (this.#denials >= DENIALS) this.lose('not-running')
  }

  noteKnown() {
    this.#denials = 0
  }

  #wake() {
    if (this.#waiter === null) return
    const resolve = this.#waiter
    if (this.#ready !== null) {
      const value = this.#ready
      this.#ready = null
      this.#waiter = null
      resolve({ value, done: false })
    } else if (this.#closed) {
      this.#waiter = null
      resolve({ value: undefined, done: true })
    }
  }

  /** Does not deliver, because the caller may be in the middle of a batch. */
  #end(reason: LossReason) {
    this.#state = 'lost'
    this.#over?.resolve()
    this.#over = null
    this.#accepted.push({ type: 'stream-lost', reason })
    this.#stopSender()
  }

  #stopSender() {
    const sender = this.#worker ?? this.#expected?.worker
    if (sender !== undefined) this.#onStop(sender, this.#epoch)
  }

  #take(event: GenerationEvent | Unreadable, more: readonly number[]) {
    if (event.type === 'unreadable') return this.#end('unreadable')
    if (this.#lastSeq === 1 && !this.#mayBeFirst(event)) return this.#end('misfit')
    if (event.type === 'choice') this.#present = this.#find(event.choice)
    if (more.length > 0) {
      this.#present.push(more)
      this.#idCount += more.length
    }
    this.#accepted.push(event)
    if (event.type === 'choice-end') this.#present.ended = true
    else if (endsEpoch(event)) this.#state = 'ended'
  }

  #find(choice: number): ChoiceIds {
    while (this.#choices.length <= choice) this.#choices.push(new ChoiceIds())
    return this.#choices[choice] ?? this.#present
  }

  /** A claim must continue after the ids of this inbox. */
  #mayBeFirst(event: GenerationEvent): boolean {
    return event.type === 'generation-claimed' ? event.after === this.#after : isRefusal(event)
  }
}

/** The token ids of one choice. */
class ChoiceIds {
  ids = NO_IDS
  count = 0
  ended = false

  all(): Uint32Array {
    return this.ids.subarray(0, this.count)
  }

  push(more: readonly number[]): void {
    const count = this.count + more.length
    if (count > this.ids.length) {
      const larger = new Uint32Array(Math.max(FIRST_IDS, this.ids.length * 2, count))
      larger.set(this.all())
      this.ids = larger
    }
    // The ids are copied one by one, because a typed array's `set` takes longer for the few ids of a step.
    for (const id of more) this.ids[this.count++] = id
  }

  /** Drops the ids, unless the choice has ended. Views of the array stay as they are. */
  restart(): void {
    if (this.ended) return
    this.ids = NO_IDS
    this.count = 0
  }
}

const isRefusal = ({ type }: GenerationEvent) => type === 'generation-declined' || type === 'generation-error'

const endsEpoch = (event: GenerationEvent) => event.type === 'generation-end' || isRefusal(event)
