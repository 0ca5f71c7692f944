import { createFrameNumbers } from './frame-numbers.ts'
import type { ControlSender } from './worker-control.ts'

/** The record that one gateway keeps of the frames from one worker. */
export type WorkerLink = {
  readonly worker: string
  /** A frame exists; false when it needs no look, because all of it was taken before. */
  meet(number: number): boolean
  /** Everything in this frame was taken. */
  take(number: number): void
  /** Frames up to `lastNumber` exist; those before `firstKept` cannot come any more. */
  applyPulse(pulse: { readonly firstKept: number; readonly lastNumber: number }): void
  /** A frame before this one (without one: any) is missing and was asked for. */
  isMissing(before?: number): boolean
  /** Asks for missing frames: at once for those that were not asked for yet. */
  requestMissing(occasion: 'frame' | 'pulse' | 'tick'): void
  /** Asks for all frames from the first missing one on: some may have been lost without a trace. */
  requestRest(): void
  /** Acknowledges a stream as settled with the next message. */
  addSettled(stream: number): void
  /** The worker still lists this stream as ended: repeats a lost acknowledgement. */
  noteStillKept(stream: number): void
  /** Call it each second. */
  tick(): void
  /** Nothing was received for a minute, and nothing is to be said. */
  isIdle(): boolean
}

/** In seconds. */
const ACKNOWLEDGE_AFTER = 5
const IDLE_AFTER = 60
/** Frames or settled streams that are acknowledged without waiting. */
const ACKNOWLEDGE_AT = 256

/**
 * A link starts at frame 1, also where the first one that is met is a later one: what came before may hold events that
 * are needed, and the worker no longer keeps what was acknowledged.
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
  /** Streams that were acknowledged as settled, by the second of the last acknowledgement. */
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
    // A worker sends a long rest in pages, each followed by a pulse.
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
      // An acknowledgement was lost, or has crossed this pulse.
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
      // An acknowledgement of this second may have crossed the pulse.
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
