import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { Usage } from '#libs/contracts/generation-event.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RunningGeneration } from './running-generations.ts'

export type Settle = {
  /** Settles a generation; returns at once and goes on until the queue Redis has answered. */
  settle(run: RunningGeneration, ending: { outcome: SettlementOutcome; usage: Usage }): void
  /** Resolves when every settlement has been answered. */
  drain(): Promise<void>
  pending(): number
}

const PAUSES = { firstPauseMs: 20, lastPauseMs: 1_000 }

/**
 * Keeps each settlement until the record has taken it: the queue Redis may be away for a while, and the client
 * never waits for it. The script is idempotent, so an unknown outcome is simply sent again. It is given up
 * only when the hold has expired by itself (`holdGraceMs` after the deadline).
 */
export function createSettle(deps: {
  record: Pick<GenerationRecord, 'settle'>
  holdGraceMs: number
  nowMs: () => number
  log: Logger
}): Settle {
  const { record, holdGraceMs, nowMs, log } = deps
  const pending = new Set<Promise<void>>()

  async function settleOnce({ job, epoch }: RunningGeneration, outcome: SettlementOutcome, usage: Usage) {
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
      if (result !== 'recorded') log.info({ generationId: job.id, epoch, result }, 'settlement refused')
    } catch (error) {
      log.error({ err: error, ...settlement }, 'settlement given up: its hold has expired')
    }
  }

  return {
    settle(run, { outcome, usage }) {
      const work = settleOnce(run, outcome, usage)
      pending.add(work)
      void work.finally(() => pending.delete(work))
    },
    async drain() {
      await Promise.all(pending)
    },
    pending: () => pending.size,
  }
}
