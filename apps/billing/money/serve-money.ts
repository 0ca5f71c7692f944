import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js'
import {
  fromReleaseMessage,
  fromReserveMessage,
  fromResizeMessage,
  toHoldMessage,
} from '#libs/billing-client/billing-wire.ts'
import type { MoneyCall__Output } from '#proto/types/millrace/billing/MoneyCall.ts'
import type { MoneyCalls__Output } from '#proto/types/millrace/billing/MoneyCalls.ts'
import type { MoneyReplies } from '#proto/types/millrace/billing/MoneyReplies.ts'
import type { MoneyReply } from '#proto/types/millrace/billing/MoneyReply.ts'
import { LaneOverloaded, type Lane } from './lanes/lane.ts'
import type { MoneyAnswer, MoneyRequest } from './lanes/money-lane.ts'
import type { BillingMetrics } from '../metrics.ts'

export type MoneyCallStream = ServerDuplexStream<MoneyCalls__Output, MoneyReplies>

/**
 * How far ahead a deadline may be. No generation runs longer than this. A hold with a later deadline would only set
 * credits aside for a longer time, in which other requests of the account cannot use these credits.
 */
const MAX_DEADLINE_AHEAD_MS = 24 * 60 * 60 * 1000

/**
 * Serves one gateway's stream: calls go to the lane, and the replies that are made in one iteration of the event loop
 * are sent as one message. A call that fails gets an error reply, and the stream goes on. While a gateway does not read
 * its replies, no calls are read from it. Returns a function that ends the stream: later calls are ignored, and the
 * stream ends after the last reply to the earlier calls. The stream also ends in this way if the gateway ends it.
 */
export function serveMoney(
  stream: MoneyCallStream,
  deps: { lane: Lane<MoneyRequest, MoneyAnswer>; metrics: BillingMetrics; nowMs: () => number },
): () => void {
  const { lane, metrics, nowMs } = deps
  let replies: MoneyReply[] = []
  let outstanding = 0
  let ending = false
  let gone = false

  async function answer(message: MoneyCall__Output): Promise<MoneyReply> {
    const { seq } = message
    const kind = message.call ?? 'none'
    let request: MoneyRequest
    try {
      request = toRequest(message, nowMs())
    } catch (error) {
      metrics.moneyCalls.inc({ kind, answer: 'invalid' })
      return { seq, failure: { reason: 'INVALID', message: String(error) } }
    }
    try {
      const given = await lane.submit(request)
      metrics.moneyCalls.inc({ kind, answer: given.kind === 'hold' ? given.hold.status : 'released' })
      if (given.kind === 'release') return { seq, release: { released: given.released } }
      if (given.hold.status === 'granted' && given.hold.clamped) metrics.clampedHolds.inc()
      return { seq, hold: toHoldMessage(given.hold) }
    } catch (error) {
      const reason = error instanceof LaneOverloaded ? 'OVERLOADED' : 'UNAVAILABLE'
      metrics.moneyCalls.inc({ kind, answer: reason.toLowerCase() })
      // PostgreSQL's error is not sent to gateways; the lane has logged it.
      const message = reason === 'OVERLOADED' ? 'too many calls wait' : 'the database did not answer'
      return { seq, failure: { reason, message } }
    }
  }

  function send(reply: MoneyReply) {
    replies.push(reply)
    if (replies.length === 1) setImmediate(flush)
  }

  function flush() {
    const batch = replies
    replies = []
    outstanding -= batch.length
    if (gone) return
    if (!stream.write({ replies: batch })) {
      stream.pause()
      stream.once('drain', () => stream.resume())
    }
    endWhenDone()
  }

  function endWhenDone() {
    if (ending && outstanding === 0 && !gone) {
      gone = true
      stream.end()
    }
  }

  stream.on('data', ({ calls }: MoneyCalls__Output) => {
    // Calls that arrive after `end` get no reply; the gateway sends them again to another replica.
    if (ending) return
    outstanding += calls.length
    for (const call of calls) void answer(call).then(send)
  })
  stream.on('end', end)
  stream.on('error', () => {
    gone = true
  })
  stream.on('cancelled', () => {
    gone = true
  })
  // The metadata is sent at once, so that the gateway can distinguish a working stream from a failed attempt.
  stream.sendMetadata(new Metadata())

  function end() {
    ending = true
    endWhenDone()
  }
  return end
}

function toRequest(message: MoneyCall__Output, nowMs: number): MoneyRequest {
  if (message.reserve) {
    const call = fromReserveMessage(message.reserve)
    assertNear(call.deadlineMs, nowMs)
    return { kind: 'reserve', call }
  }
  if (message.resize) {
    const call = fromResizeMessage(message.resize)
    assertNear(call.deadlineMs ?? 0, nowMs)
    return { kind: 'resize', call }
  }
  if (message.release) return { kind: 'release', reservationId: fromReleaseMessage(message.release) }
  throw new RangeError('the call is empty')
}

function assertNear(deadlineMs: number, nowMs: number): void {
  if (deadlineMs > nowMs + MAX_DEADLINE_AHEAD_MS) throw new RangeError('deadline_ms is too far ahead')
}
