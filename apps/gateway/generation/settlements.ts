import { setTimeout as sleep } from 'node:timers/promises'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { GenerationRecord, Settled } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { QueueClock } from '../servers/queue-clock.ts'
import type { ReleaseHold } from './reserve.ts'

/** How one generation ended, as its caller saw it. */
export type Ending = {
  readonly job: Pick<GenerationJob, 'id' | 'model' | 'stream' | 'hold' | 'traceparent'>
  readonly epoch: number
  readonly outcome: SettlementOutcome
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  /** By the monotonic clock of this process. */
  readonly deadlineMs: number
  readonly timing: SettlementTiming
}

export type Settlements = {
  /** Settles a generation; returns at once. `onAnswer` is called when the record has answered. */
  add(ending: Ending, onAnswer: (settled: Settled) => void): void
  /** Releases a hold that billing may have granted without an answer. Returns at once. */
  releaseHold: ReleaseHold
  /** Call it each second: drops what billing has committed, sends again what a failover may have lost. */
  tick(): Promise<void>
  /** As many are held as may be, in number or in bytes: no new work may be taken. */
  isFull(): boolean
  /** Share of the bound that is in use; 1 or more: `isFull`. */
  fill(): number
  /** Not answered yet; answered, but not known to be committed. */
  counts(): { unanswered: number; kept: number }
  /** Resolves when everything that was begun has been answered. */
  drain(): Promise<void>
  /** For the end of this process: resolves when billing has committed everything, or after `limitMs`. */
  untilCommitted(limitMs: number): Promise<void>
}

const REPEAT = { firstPauseMs: 20, lastPauseMs: 1_000 }
const MOST_HELD = 50_000
/** 50,000 with receipts of 500 B take 70 MB. */
const MOST_BYTES = 64 * 1024 * 1024
/** One settlement without its texts: 850 B of heap, measured over 20,000 of them, and 100 B of its timing. */
const ENTRY_BYTES = 1_000
/** The entry's time in Redis may be this much later than our reading of Redis' clock. */
const CLOCK_MARGIN_MS = 1_000
/** Between two looks at billing's mark while this process waits for it; billing moves it each second. */
const LOOK_MS = 250

type Held = {
  readonly ending: Ending
  readonly bytes: number
  /** Called with the first answer, then dropped: it refers to the whole generation. */
  onAnswer: ((settled: Settled) => void) | null
  /** Of queue Redis and stream, before it was sent: the answer came from that run if it is still the same one. */
  runId: string | null
  /** By Redis' clock; null: sent, and not answered yet. */
  answeredMs: number | null
  wasAnswered: boolean
  /** Of its hold, by the monotonic clock. */
  holdDeadlineMs: number
  /** Among those of its model. */
  number: number
}

/**
 * The gateway settles what it delivered, and holds each settlement until billing has committed it: the queue Redis may
 * be away, and a failover, or whoever deletes the stream, may lose what it had acknowledged. Settling is idempotent, so a
 * settlement is sent again after each change of the run id (`SettlementMark`), also one that was answered `settled`. It is
 * dropped when billing's mark, read together with the run id, has passed its answer under the run id of that answer.
 *
 * A settlement is sent together with the next command to the queue Redis, or after 20 ms. If the gateway is killed before
 * that, the answer that it had just delivered is not charged, like those that it was still delivering.
 *
 * `WAIT` after a settlement would add nothing to this: a replica receives it no sooner, the client does not wait for it,
 * and what is kept until PostgreSQL has it needs no word from a replica. Lost is what a gateway kept that is killed
 * together with the master, with `WAIT` as without. A gateway that is stopped drops what it keeps, so it first waits for
 * billing's mark, which covers a replica that is behind as well.
 *
 * While a settlement has no answer its hold is extended before it would expire: a late one is still charged.
 *
 * What is held is bounded in number and in bytes, since billing may be away for hours; at the bound new work is refused.
 */
export function createSettlements(deps: {
  record: Pick<GenerationRecord, 'settle' | 'readMark'>
  billing: Pick<BillingClient, 'release' | 'extend'>
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
    const settlement = { id: job.id, epoch, outcome, promptTokens, cachedTokens, completionTokens }
    entry.answeredMs = null
    const apart = { receipt: job.hold.receipt, traceparent: job.traceparent, timing }
    const ask = async () => {
      entry.runId = runIds.get(job.model) ?? (await readRunId(job.model))
      const as = { role: 'gateway', again: entry.wasAnswered } as const
      return await record.settle(job.model, { ...settlement, ...apart }, as)
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

  /** Before the first settlement of a model, which would be sent again if its run were not known. */
  async function readRunId(model: string): Promise<string> {
    const { runId } = await record.readMark(model)
    runIds.set(model, runId)
    return runId
  }

  function noteAnswer(entry: Held): void {
    if (!entry.wasAnswered) unanswered -= 1
    entry.wasAnswered = true
  }

  /** Half of the grace before the hold would expire. */
  function extend(entry: Held): void {
    if (nowMs() < entry.holdDeadlineMs + holdGraceMs / 2) return
    entry.holdDeadlineMs = nowMs() + holdGraceMs
    const { id } = entry.ending.job
    billing
      .extend({ reservationId: id, outputTokens: 0, deadlineMs: queueClock.toQueueMs(entry.holdDeadlineMs) })
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

/** Without the request, which may be megabytes of prompt. */
function toKeptJob({ id, model, stream, hold, traceparent }: Ending['job']): Ending['job'] {
  return { id, model, stream, hold, ...(traceparent !== undefined && { traceparent }) }
}

/** Its texts are ASCII, of one byte a character. */
function sizeOf({ job }: Ending): number {
  return ENTRY_BYTES + job.id.length + job.hold.receipt.length + (job.traceparent?.length ?? 0)
}
