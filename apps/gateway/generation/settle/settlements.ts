import { setTimeout as sleep } from 'node:timers/promises'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import { proveSettlement } from '#libs/contracts/settlement-proof.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { GenerationRecord, Settled } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { QueueClock } from '../../servers/queue-clock.ts'
import type { ReleaseHold } from '../holds/reserve.ts'

/** How one generation ended, as its caller saw it. */
export type Ending = {
  readonly job: Pick<GenerationJob, 'id' | 'model' | 'stream' | 'hold' | 'traceparent'>
  readonly epoch: number
  readonly outcome: SettlementOutcome
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  /** The cost of the generation in the fair order beyond its tokens. Absent: 0. */
  readonly extraCost?: number | undefined
  /** A time of this process's monotonic clock. */
  readonly deadlineMs: number
  readonly timing: SettlementTiming
}

export type Settlements = {
  /** Settles a generation; returns at once. `onAnswer` is called when the queue Redis has answered the settlement. */
  add(ending: Ending, onAnswer: (settled: Settled) => void): void
  /** Releases a hold that billing may have granted although no answer arrived. Returns at once. */
  releaseHold: ReleaseHold
  /**
   * Drops settlements that billing has committed, and sends settlements again that a failover may have lost. Must be
   * called each second.
   */
  tick(): Promise<void>
  /** True if the kept settlements have reached their bound, in number or in bytes. No new work may be taken then. */
  isFull(): boolean
  /** Returns the share of the bound that is in use; at 1 or more `isFull` is true. */
  fill(): number
  /** Returns how many settlements are not answered yet, and how many are answered but not known to be committed. */
  counts(): { unanswered: number; kept: number }
  /** Resolves when every settlement and release that was begun has been answered. */
  drain(): Promise<void>
  /** Resolves when billing has committed every settlement, or after `limitMs`. Called at the end of this process. */
  untilCommitted(limitMs: number): Promise<void>
}

const REPEAT = { firstPauseMs: 20, lastPauseMs: 1_000 }
const MOST_HELD = 50_000
/** The largest size of the kept settlements together: 50,000 settlements with receipts of 500 B take 70 MB. */
const MOST_BYTES = 64 * 1024 * 1024
/** The heap of one settlement without its texts: 850 B, measured over 20,000 of them, and 100 B for its timing. */
const ENTRY_BYTES = 1_000
/**
 * This process computes the time of Redis' clock at which a settlement was answered (`createQueueClock`). The time with
 * which Redis has stored the settlement may be later than the computed time, but by less than this margin. So the
 * margin is added to the computed time.
 */
const CLOCK_MARGIN_MS = 1_000
/**
 * The pause between two readings of billing's mark (`SettlementMark`) in `untilCommitted`. Billing moves the mark each
 * second.
 */
const LOOK_MS = 250

type Held = {
  readonly ending: Ending
  readonly bytes: number
  /** Called with the first answer, then dropped, because it refers to the whole generation. */
  onAnswer: ((settled: Settled) => void) | null
  /**
   * The run id of the model's settlements (`SettlementMark`), as it was read before this settlement was sent. The run
   * id changes when the queue Redis may have lost settlements that it had answered. So if a later reading gives the
   * same run id, this settlement is not lost.
   */
  runId: string | null
  /** A time of Redis' clock; null if the settlement was sent and is not answered yet. */
  answeredMs: number | null
  wasAnswered: boolean
  /** The deadline of the hold, by the monotonic clock. */
  holdDeadlineMs: number
  /** The settlement's number in the set of its model. */
  number: number
}

/**
 * The gateway settles the generations that it delivered, and keeps each settlement until billing has committed it. The
 * queue Redis may be away, and acknowledged settlements may be lost by a failover or by somebody who deletes the
 * stream. Settling is idempotent, so a settlement is sent again after each change of the run id (`SettlementMark`),
 * even if it was answered `settled`. A settlement is dropped when both of these are true:
 * - Billing's mark has passed the time of the settlement's answer.
 * - The run id, which is read together with the mark, has not changed since the settlement was sent.
 *
 * A settlement is sent together with the next command to the queue Redis, or after 20 ms. If the gateway is killed
 * before that, the output that it has just delivered is not charged. Output that it was still delivering is not charged
 * either.
 *
 * Redis' `WAIT` after a settlement would not help. A replica receives the settlement no sooner, and no client waits for
 * the settlement. A settlement that is kept until PostgreSQL has it needs no confirmation by a replica. Only
 * settlements of a gateway that is killed together with the master are lost, with or without `WAIT`. A gateway that
 * ends loses the settlements that it keeps. So a gateway that is stopped first waits until billing's mark has passed
 * them. After that, a replica that is behind can lose none of these settlements.
 *
 * While a settlement has no answer, its hold is extended before it would expire, so that a late settlement is still
 * charged.
 *
 * The kept settlements are bounded in number and in bytes, because billing may be away for hours. At the bound new work
 * is refused.
 */
export function createSettlements(deps: {
  record: Pick<GenerationRecord, 'settle' | 'readMark'>
  billing: Pick<BillingClient, 'release' | 'resize'>
  /** A clock that never goes back. */
  nowMs: () => number
  queueClock: Pick<QueueClock, 'nowMs' | 'toQueueMs'>
  holdGraceMs: number
  log: Logger
  mostHeld?: number
  mostBytes?: number
}): Settlements {
  const { record, billing, nowMs, queueClock, holdGraceMs, log } = deps
  const { mostHeld = MOST_HELD, mostBytes = MOST_BYTES } = deps
  const held = new Map<string, ShortLivedSet<Held>>()
  const runIds = new Map<string, string>()
  const working = new ShortLivedSet<Promise<void>>()
  let count = 0
  let bytes = 0
  let unanswered = 0
  let wasFull = false

  function begin(work: Promise<void>): void {
    const number = working.add(work)
    void work.finally(() => working.delete(number))
  }

  async function settle(entry: Held): Promise<void> {
    const { job, epoch, outcome, promptTokens, cachedTokens, completionTokens, timing } = entry.ending
    const { extraCost } = entry.ending
    const settlement = { id: job.id, epoch, outcome, promptTokens, cachedTokens, completionTokens }
    entry.answeredMs = null
    const receipt = proveSettlement(job.hold.receipt, settlement)
    const apart = { receipt, traceparent: job.traceparent, timing }
    const ask = async () => {
      entry.runId = runIds.get(job.model) ?? (await readRunId(job.model))
      return await record.settle(job.model, { ...settlement, ...apart }, { role: 'gateway', extraCost })
    }
    const giveUp = () => nowMs() > entry.holdDeadlineMs + holdGraceMs
    try {
      const settled = await untilAnswered(ask, { ...REPEAT, giveUp, onFailure: () => extend(entry) })
      entry.answeredMs = queueClock.nowMs() + CLOCK_MARGIN_MS
      noteAnswer(entry)
      if (settled.status === 'stale')
        log.error({ requestId: job.id, epoch }, 'a settlement was refused as stale')
      const { onAnswer } = entry
      entry.onAnswer = null
      onAnswer?.(settled)
    } catch (error) {
      log.error({ err: error, requestId: job.id, ...settlement }, 'settlement dropped: its hold has expired')
      noteAnswer(entry)
      drop(job.model, entry)
    }
  }

  /**
   * Reads the run id of a model's settlements (`SettlementMark`). Called before the first settlement of the model is
   * sent. A settlement without a run id would be sent a second time by `review`.
   */
  async function readRunId(model: string): Promise<string> {
    const { runId } = await record.readMark(model)
    runIds.set(model, runId)
    return runId
  }

  function noteAnswer(entry: Held): void {
    if (!entry.wasAnswered) unanswered -= 1
    entry.wasAnswered = true
  }

  /**
   * Extends the hold if half of the grace time that follows the hold's deadline has passed. Before that, does nothing.
   */
  function extend(entry: Held): void {
    if (nowMs() < entry.holdDeadlineMs + holdGraceMs / 2) return
    entry.holdDeadlineMs = nowMs() + holdGraceMs
    const { id } = entry.ending.job
    billing
      .resize({
        reservationId: id,
        outputTokens: 0,
        deadlineMs: queueClock.toQueueMs(entry.holdDeadlineMs),
      })
      .catch((error: unknown) =>
        log.warn({ err: error, requestId: id }, 'the hold of a late settlement was not extended'),
      )
  }

  function drop(model: string, entry: Held): void {
    const ofModel = held.get(model)
    if (ofModel?.delete(entry.number) !== true) return
    count -= 1
    bytes -= entry.bytes
    if (ofModel.size === 0) held.delete(model)
  }

  async function review(model: string, ofModel: Iterable<Held>): Promise<void> {
    const { runId, committedMs } = await record.readMark(model)
    runIds.set(model, runId)
    for (const entry of ofModel) {
      const { answeredMs } = entry
      if (answeredMs === null) continue
      if (entry.runId === null || entry.runId !== runId) begin(settle(entry))
      else if (committedMs !== null && committedMs >= answeredMs) drop(model, entry)
    }
  }

  const fill = () => Math.max(count / mostHeld, bytes / mostBytes)

  function noteFill(): void {
    const isFull = fill() >= 1
    if (isFull && !wasFull) {
      log.error({ held: count, bytes }, 'too many settlements wait for billing: new work is refused')
    }
    wasFull = isFull
  }

  async function tick(): Promise<void> {
    noteFill()
    const reviews = [...held].map(async ([model, ofModel]) => {
      await review(model, ofModel).catch((error: unknown) =>
        log.warn({ err: error, model }, 'the mark of committed settlements was not read'),
      )
    })
    await Promise.all(reviews)
  }

  return {
    add(ending, onAnswer) {
      const { model } = ending.job
      const kept = { ...ending, job: toKeptJob(ending.job) }
      const entry: Held = {
        ending: kept,
        bytes: sizeOf(kept),
        onAnswer,
        runId: null,
        answeredMs: null,
        wasAnswered: false,
        holdDeadlineMs: ending.deadlineMs,
        number: 0,
      }
      const ofModel = held.get(model) ?? new ShortLivedSet<Held>()
      held.set(model, ofModel)
      entry.number = ofModel.add(entry)
      count += 1
      bytes += entry.bytes
      unanswered += 1
      begin(settle(entry))
    },
    releaseHold(id) {
      const giveUpAtMs = nowMs() + holdGraceMs
      const release = untilAnswered(async () => await billing.release(id), {
        ...REPEAT,
        giveUp: () => nowMs() >= giveUpAtMs,
      })
      begin(
        release.then(
          () => undefined,
          (error: unknown) =>
            log.error({ err: error, requestId: id }, 'a hold was not released; it expires by itself'),
        ),
      )
    },
    tick,
    isFull: () => fill() >= 1,
    fill,
    counts: () => ({ unanswered, kept: count - unanswered }),
    async drain() {
      while (working.size > 0) await Promise.all(working)
    },
    async untilCommitted(limitMs) {
      const giveUpAtMs = performance.now() + limitMs
      const isOver = () => count === 0 || performance.now() >= giveUpAtMs
      while (!isOver()) {
        await tick()
        if (!isOver()) await sleep(LOOK_MS)
      }
      if (count > 0) log.info({ kept: count }, 'settlements are left in the queue Redis, not committed yet')
    },
  }
}

/** Drops the request, which may be megabytes of prompt. */
function toKeptJob({ id, model, stream, hold, traceparent }: Ending['job']): Ending['job'] {
  return { id, model, stream, hold, ...(traceparent !== undefined && { traceparent }) }
}

/** The texts are ASCII, so they take one byte per character. */
function sizeOf({ job }: Ending): number {
  return ENTRY_BYTES + job.id.length + job.hold.receipt.length + (job.traceparent?.length ?? 0)
}
