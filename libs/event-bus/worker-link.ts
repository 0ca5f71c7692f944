import { createFrameNumbers } from './frame-numbers.ts'
import type { ControlSender } from './worker-control.ts'

/** A gateway's record of the frames that it receives from one worker. */
export type WorkerLink = {
  readonly worker: string
  /** Notes that a frame exists. Returns false if the whole frame was taken before, so that it need not be read. */
  meet(number: number): boolean
  /** Notes that everything in this frame was taken. */
  take(number: number): void
  /** Notes that frames up to `lastNumber` exist, and that frames before `firstKept` cannot come any more. */
  applyPulse(pulse: { readonly firstKept: number; readonly lastNumber: number }): void
  /** True if a frame before this number (without a number, any frame) is missing. */
  isMissing(before?: number): boolean
  /** Asks the worker for missing frames. Frames that were not requested before are requested at once. */
  requestMissing(occasion: 'frame' | 'pulse' | 'tick'): void
  /**
   * Asks the worker to publish every frame again, from the first missing frame on. This includes frames of which this
   * link does not know yet, because these frames may be lost too.
   */
  requestRest(): void
  /** Acknowledges a stream as settled with the next message. */
  addSettled(stream: number): void
  /** Records that the worker still lists this stream as ended, so that a lost acknowledgement is repeated. */
  noteStillKept(stream: number): void
  /** Must be called each second. */
  tick(): void
  /** True if nothing was received for a minute and nothing is left to acknowledge. */
  isIdle(): boolean
}

/** The seconds after which a link acknowledges, and after which it is idle. */
const ACKNOWLEDGE_AFTER = 5
const IDLE_AFTER = 60
/** This many frames or settled streams are acknowledged without waiting. */
const ACKNOWLEDGE_AT = 256

/**
 * A link expects frames from number 1 on, even if the first frame that arrives has a higher number, because earlier
 * frames may contain events that are needed. The worker no longer keeps frames that were acknowledged. Its pulse shows
 * which frame is the first kept one, and the link no longer expects the frames before it.
 */
export function createWorkerLink(options: {
  worker: string
  control: Pick<ControlSender, 'resend' | 'acknowledge'>
}): WorkerLink {
  const { worker, control } = options
  const numbers = createFrameNumbers()
  let asked = { from: 0, upTo: 0 }
  let acknowledged = 0
  let settled: number[] = []
  /** The streams that were acknowledged as settled. The value is `second` at the stream's last acknowledgement. */
  const settledSent = new Map<number, number>()
  let second = 0
  let heardSecond = 0
  let acknowledgedSecond = 0

  function request(from: number) {
    asked = { from, upTo: numbers.highest() }
    void control.resend(worker, from)
  }

  function requestMissing(occasion: 'frame' | 'pulse' | 'tick') {
    const from = numbers.firstMissing()
    if (from === null) return
    const isNew = from > asked.upTo
    // A worker sends many missing frames in pages, each followed by a pulse.
    const isNextPage = occasion === 'pulse' && from > asked.from
    if (isNew || isNextPage || occasion === 'tick') request(from)
  }

  function acknowledge() {
    const number = numbers.contiguous()
    const arrived = Math.max(0, number - acknowledged)
    if (arrived === 0 && settled.length === 0) return
    const isDue = second - acknowledgedSecond >= ACKNOWLEDGE_AFTER
    if (!isDue && arrived <= ACKNOWLEDGE_AT && settled.length <= ACKNOWLEDGE_AT) return
    void control.acknowledge(worker, number, settled)
    acknowledged = number
    acknowledgedSecond = second
    for (const stream of settled) settledSent.set(stream, second)
    settled = []
  }

  return {
    worker,
    meet(number) {
      heardSecond = second
      numbers.noteHighest(number)
      return !numbers.has(number)
    },
    take: numbers.add,
    applyPulse({ firstKept, lastNumber }) {
      heardSecond = second
      numbers.noteHighest(lastNumber)
      numbers.giveUp(firstKept - 1)
      // The last acknowledgement was lost, or this pulse was sent before it arrived.
      acknowledged = Math.min(acknowledged, firstKept - 1)
    },
    isMissing(before = Infinity) {
      const missing = numbers.firstMissing()
      return missing !== null && missing < before
    },
    requestMissing,
    requestRest: () => request(numbers.contiguous() + 1),
    addSettled(stream) {
      settled.push(stream)
    },
    noteStillKept(stream) {
      const sent = settledSent.get(stream)
      // This pulse may have been sent before the worker received an acknowledgement of this second.
      if (sent === undefined || second - sent < 2) return
      settledSent.delete(stream)
      settled.push(stream)
    },
    tick() {
      second += 1
      requestMissing('tick')
      acknowledge()
      for (const [stream, sent] of settledSent) {
        if (second - sent < IDLE_AFTER) break
        settledSent.delete(stream)
      }
    },
    isIdle: () => second - heardSecond >= IDLE_AFTER && settled.length === 0,
  }
}
