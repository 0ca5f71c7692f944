import { ZodError } from 'zod'
import type { GenerationTicket } from '#libs/contracts/generation-job.ts'
import type { Claim, GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

export type ClaimTicket = (model: string, ticket: GenerationTicket) => Promise<Claim>

const PAUSES = { firstPauseMs: 50, lastPauseMs: 500 }
/** Longer than a stall of Redis or of ours; afterwards the gateway finds the record claimed and watches us. */
const GIVE_UP_AFTER_MS = 30_000

/**
 * Claims until the record answers: a claim whose answer came too late has been made all the same, and repeating
 * it is safe. A job that this version cannot read is settled at nothing, because nobody else would end it.
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
        log.error({ err: error, ...ticket }, 'a job that cannot be read is settled at nothing')
        const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
        await record.settle(model, { ...ticket, outcome: 'fault', ...usage })
        return { status: 'settled' } as const
      }
    }
    return await untilAnswered(claim, { ...PAUSES, giveUp: () => nowMs() >= giveUpAtMs })
  }
}
