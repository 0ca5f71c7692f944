import type { ClientDuplexStream } from '@grpc/grpc-js'
import { ShortLivedMap } from '#libs/short-lived/short-lived-map.ts'
import type { MoneyCall } from '#proto/types/millrace/billing/MoneyCall.ts'
import type { MoneyCalls } from '#proto/types/millrace/billing/MoneyCalls.ts'
import type { MoneyReplies__Output } from '#proto/types/millrace/billing/MoneyReplies.ts'
import type { MoneyReply__Output } from '#proto/types/millrace/billing/MoneyReply.ts'
import { BillingUnavailable } from './billing-unavailable.ts'

type Stream = ClientDuplexStream<MoneyCalls, MoneyReplies__Output>

type Waiting = {
  readonly seq: string
  readonly call: MoneyCall
  readonly resolve: (reply: MoneyReply__Output) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
  sendings: number
  /** The stream on which a reply is awaited; null while the call waits to be sent. */
  sentOn: Stream | null
}

export type MoneyStream = {
  /** Rejects with BillingUnavailable when no reply arrives: see `createMoneyStream`. */
  ask(call: MoneyCall): Promise<MoneyReply__Output>
  close(): void
}

const MAX_CALLS_PER_MESSAGE = 512
/**
 * As soon as this many calls wait, they are sent. A larger number delays the first token and, with 32 requests at once,
 * lowers the throughput.
 */
const GATHERED_CALLS = 8

/**
 * One bidirectional stream for all money calls of a process. The calls of one event-loop turn are sent as one message.
 * If `gatherMs` returns more than 0, a message is sent no sooner than that many ms after the previous one, unless 8
 * calls wait. Replies are matched by `seq`.
 *
 * A stream is used for `renewAfterMs`. Then a new one is opened, so that calls also reach replicas of billing that have
 * started since. Replies on the former stream are still received.
 *
 * Each call ends within `timeoutMs`. When a working stream breaks, for example because a replica of billing restarts,
 * its unanswered calls are sent once more on a new stream. That is safe because the calls are idempotent. If no stream
 * can be opened, the calls fail at once. grpc itself limits the rate of connection attempts. At most `maxOutstanding`
 * calls wait; more are refused.
 */
export function createMoneyStream(options: {
  open: () => Stream
  timeoutMs: number
  maxOutstanding: number
  /** Returns the time for which a stream is used. Called for each stream. */
  renewAfterMs: () => number
  /**
   * Returns the shortest time, in ms, from one message to the next. Calls that are made within this time are gathered.
   * A call that is made after this time is sent at once.
   */
  gatherMs: () => number
}): MoneyStream {
  const { open, timeoutMs, maxOutstanding, renewAfterMs, gatherMs } = options
  const outstanding = new ShortLivedMap<string, Waiting>()
  let unsent: Waiting[] = []
  let flushesThisTurn = false
  let flushTimer: NodeJS.Timeout | undefined
  let flushedMs = -Infinity
  let stream: Stream | null = null
  let renewAtMs = 0
  /** The former streams on which replies may still arrive. */
  const former = new Map<Stream, NodeJS.Timeout>()
  let lastSeq = 0
  let closed = false

  function ask(call: MoneyCall): Promise<MoneyReply__Output> {
    if (closed) return Promise.reject(new BillingUnavailable('the client is closed'))
    if (outstanding.size >= maxOutstanding) {
      const reason = `${maxOutstanding} calls wait already`
      return Promise.reject(new BillingUnavailable(reason, { nothingDone: true }))
    }
    const { promise, resolve, reject } = Promise.withResolvers<MoneyReply__Output>()
    lastSeq += 1
    const seq = String(lastSeq)
    const timer = setTimeout(() => {
      outstanding.delete(seq)
      reject(new BillingUnavailable(`no answer within ${timeoutMs} ms`))
    }, timeoutMs)
    const waiting = { seq, call: { ...call, seq }, resolve, reject, timer, sendings: 0, sentOn: null }
    outstanding.set(seq, waiting)
    unsent.push(waiting)
    scheduleFlush()
    return promise
  }

  function scheduleFlush() {
    const isFull = unsent.length >= GATHERED_CALLS
    if (flushesThisTurn || (flushTimer !== undefined && !isFull)) return
    const waitMs = isFull ? 0 : flushedMs + gatherMs() - performance.now()
    if (waitMs > 0) {
      flushTimer = setTimeout(flush, waitMs)
      return
    }
    clearTimeout(flushTimer)
    flushesThisTurn = true
    setImmediate(flush)
  }

  function flush() {
    flushesThisTurn = false
    flushTimer = undefined
    const batch = unsent.filter(({ seq }) => outstanding.has(seq))
    unsent = []
    if (batch.length === 0) return
    flushedMs = performance.now()
    if (stream !== null && flushedMs >= renewAtMs) retire(stream)
    if (stream === null) {
      stream = follow(open())
      renewAtMs = flushedMs + renewAfterMs()
    }
    for (const waiting of batch) {
      waiting.sendings += 1
      waiting.sentOn = stream
    }
    for (let start = 0; start < batch.length; start += MAX_CALLS_PER_MESSAGE) {
      stream.write({ calls: batch.slice(start, start + MAX_CALLS_PER_MESSAGE).map(({ call }) => call) })
    }
  }

  /**
   * Sends no more calls on the stream, but still receives replies. Billing ends the stream after its last reply. After
   * `timeoutMs` all calls on the stream have ended, so it is cancelled if it is still open.
   */
  function retire(old: Stream) {
    stream = null
    old.end()
    former.set(
      old,
      setTimeout(() => old.cancel(), timeoutMs),
    )
  }

  function follow(opened: Stream): Stream {
    let worked = false
    opened.on('metadata', () => {
      worked = true
    })
    opened.on('data', ({ replies }: MoneyReplies__Output) => {
      for (const reply of replies) {
        const waiting = take(reply.seq)
        waiting?.resolve(waiting.sendings > 1 ? toUnavailable(reply) : reply)
      }
    })
    // The event `status` comes at every end of a stream, also after an error, and is handled below. Without this
    // listener an error would be thrown.
    opened.on('error', () => undefined)
    opened.on('status', ({ details }) => {
      clearTimeout(former.get(opened))
      const isFormer = former.delete(opened)
      if (stream !== opened && !isFormer) return
      if (!isFormer) stream = null
      recover(opened, { worked: worked || isFormer, reason: details })
    })
    return opened
  }

  function recover(ended: Stream, { worked, reason }: { worked: boolean; reason: string }) {
    for (const waiting of outstanding.values()) {
      const { seq, sendings, sentOn } = waiting
      if (sentOn !== null && sentOn !== ended) continue
      waiting.sentOn = null
      if (worked && sendings < 2) continue
      take(seq)?.reject(new BillingUnavailable(reason, { nothingDone: sendings === 0 }))
    }
    unsent = [...outstanding.values()].filter(({ sentOn }) => sentOn === null)
    if (unsent.length > 0) scheduleFlush()
  }

  function take(seq: string): Waiting | undefined {
    const waiting = outstanding.get(seq)
    if (waiting === undefined) return undefined
    outstanding.delete(seq)
    clearTimeout(waiting.timer)
    return waiting
  }

  return {
    ask,
    close() {
      closed = true
      clearTimeout(flushTimer)
      unsent = []
      for (const seq of outstanding.keys()) {
        take(seq)?.reject(new BillingUnavailable('the client was closed'))
      }
      stream?.cancel()
      stream = null
      for (const [old, timer] of former) {
        clearTimeout(timer)
        old.cancel()
      }
      former.clear()
    },
  }
}

/**
 * OVERLOADED means that this sending of a call had no effect. An earlier sending of the same call may have had an
 * effect, so OVERLOADED becomes UNAVAILABLE.
 */
function toUnavailable(reply: MoneyReply__Output): MoneyReply__Output {
  const { failure } = reply
  return failure?.reason === 'OVERLOADED'
    ? { ...reply, failure: { ...failure, reason: 'UNAVAILABLE' } }
    : reply
}
