import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RunningGeneration } from './running-generations.ts'

export type Settlements = {
  /** Settles a generation; returns at once and repeats until the queue Redis has answered. */
  add(run: RunningGeneration, outcome: SettlementOutcome): void
  /** Resolves when every settlement has been answered. */
  drain(): Promise<void>
  pending(): number
}

const PAUSES = { firstPauseMs: 20, lastPauseMs: 1_000 }

/**
 * The settlements that the queue Redis has not answered yet. It may be unavailable for a while, and the client
 * never waits for it. The script is idempotent, so a settlement without an answer is sent again. It is dropped only
 * when its hold has expired (`holdGraceMs` after the deadline).
 */
export function createSettlements(deps: {
  record: Pick<GenerationRecord, 'settle'>
  holdGraceMs: number
  nowMs: () => number
  log: Logger
}): Settlements {
  const { record, holdGraceMs, nowMs, log } = deps
  const pending = new Set<Promise<void>>()

  async function settle({ job, epoch, usage }: RunningGeneration, outcome: SettlementOutcome) {
    const { promptTokens, cachedTokens, completionTokens } = usage
    const settlement = {
      id: job.id,
      epoch,
      outcome,
      promptTokens,
      cachedTokens,
      completionTokens,
      receipt: job.hold.receipt,
    }
    const giveUp = () => nowMs() > job.deadlineMs + holdGraceMs
    try {
      const result = await untilAnswered(async () => await record.settle(job.model, settlement), {
        ...PAUSES,
        giveUp,
      })
      if (result !== 'recorded') log.info({ generationId: job.id, epoch, result }, 'settlement not recorded')
    } catch (error) {
      log.error({ err: error, ...settlement }, 'settlement dropped: its hold has expired')
    }
  }

  return {
    add(run, outcome) {
      const answered = settle(run, outcome)
      pending.add(answered)
      void answered.finally(() => pending.delete(answered))
    },
    async drain() {
      await Promise.all(pending)
    },
    pending: () => pending.size,
  }
}
