import { ZodError } from 'zod'
import type { GenerationTicket } from '#libs/contracts/generation-job.ts'
import type { Claim, GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

export type ClaimTicket = (model: string, ticket: GenerationTicket) => Promise<Claim>

const PAUSES = { firstPauseMs: 50, lastPauseMs: 500 }
/** Longer than a stall of Redis or of this process. Afterwards the gateway finds the record claimed and watches us. */
const GIVE_UP_AFTER_MS = 30_000

/**
 * Repeats the claim until the record answers: a claim whose answer was lost may have been made, and repeating it is
 * safe. A job that this version cannot parse is settled without a charge, because no other process would end it.
 */
export function createClaimTicket(deps: {
  record: Pick<GenerationRecord, 'claim' | 'settle'>
  worker: string
  nowMs: () => number
  log: Logger
}): ClaimTicket {
  const { record, worker, nowMs, log } = deps
  return async (model, ticket) => {
    const giveUpAtMs = nowMs() + GIVE_UP_AFTER_MS
    const claim = async () => {
      try {
        return await record.claim(model, ticket, worker)
      } catch (error) {
        if (!(error instanceof ZodError)) throw error
        log.error({ err: error, ...ticket }, 'a job that cannot be parsed is settled without a charge')
        const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
        await record.settle(model, { ...ticket, outcome: 'fault', ...usage })
        return { status: 'settled' } as const
      }
    }
    return await untilAnswered(claim, { ...PAUSES, giveUp: () => nowMs() >= giveUpAtMs })
  }
}
