import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { Usage } from '#libs/contracts/generation-event.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RunningGeneration } from './running-generations.ts'

export type Settle = {
  /** Settles a generation; returns at once and goes on until the queue Redis has answered. */
  settle(run: RunningGeneration, ending: { outcome: SettlementOutcome; usage: Usage }): void
  /** Resolves when every settlement has been answered. */
  drain(): Promise<void>
  pending(): number
}

const FIRST_PAUSE_MS = 20
const LAST_PAUSE_MS = 1_000

/**
 * Keeps each settlement until the record has taken it: the queue Redis may be away for a while, and the client
 * never waits for it. The script is idempotent, so an unknown outcome is simply sent again. It is given up
 * only when the hold has expired by itself (`keepMs` after the deadline).
 */
export function createSettle(deps: {
  record: Pick<GenerationRecord, 'settle'>
  keepMs: number
  nowMs: () => number
  log: Logger
}): Settle {
  const { record, keepMs, nowMs, log } = deps
  const pending = new Set<Promise<void>>()

  async function untilAnswered({ job, epoch }: RunningGeneration, outcome: SettlementOutcome, usage: Usage) {
    const { promptTokens, cachedTokens, completionTokens } = usage
    const settlement = { id: job.id, epoch, outcome, promptTokens, cachedTokens, completionTokens }
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)) {
      try {
        const result = await record.settle(job.model, settlement)
        if (result !== 'recorded') log.info({ generationId: job.id, epoch, result }, 'settlement refused')
        return
      } catch (error) {
        if (nowMs() > job.deadlineMs + keepMs) {
          log.error({ err: error, ...settlement }, 'settlement given up: its hold has expired')
          return
        }
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      setTimeout(resolve, pauseMs)
      await promise
    }
  }

  return {
    settle(run, { outcome, usage }) {
      const work = untilAnswered(run, outcome, usage)
      pending.add(work)
      void work.finally(() => pending.delete(work))
    },
    async drain() {
      await Promise.all(pending)
    },
    pending: () => pending.size,
  }
}
