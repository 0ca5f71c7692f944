import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationClaimed, GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'

/** Measures one generation for its settlement: a few readings of the clock, whatever its length. */
export type Timing = {
  /** It is in the queue, behind so many others; null: not known. */
  queued(ahead: number | null): void
  claimed(claim: Pick<GenerationClaimed, 'waitedMs'>): void
  /** Output arrived. Only the first call counts. */
  output(): void
  failed(error: unknown): void
  end(end: GenerationEnd | null): SettlementTiming
}

/**
 * The wait is that of the first claim, as the queue Redis measured it: a claim may be published with the first token, so
 * its arrival here says little. What follows is measured here. After a recovery the pause counts as running.
 */
export function createTiming(options: { streamed: boolean; nowMs: () => number }): Timing {
  const { streamed, nowMs } = options
  let queuedMs: number | null = null
  let ahead: number | null = null
  let wasClaimed = false
  let waitedMs: number | null = null
  let firstMs: number | null = null
  let errorCode: string | null = null

  return {
    queued(before) {
      queuedMs = nowMs()
      ahead = before
    },
    claimed(claim) {
      if (!wasClaimed) waitedMs = claim.waitedMs ?? null
      wasClaimed = true
    },
    output() {
      firstMs ??= nowMs()
    },
    failed(error) {
      errorCode = error instanceof ApiError ? error.code : 'upstream_error'
    },
    end(end) {
      const endedMs = nowMs()
      const sinceQueuedMs = queuedMs === null ? null : endedMs - queuedMs
      const toFirstMs = queuedMs === null || firstMs === null ? null : firstMs - queuedMs
      return {
        waitedMs: wasClaimed ? waitedMs : sinceQueuedMs,
        ahead,
        firstTokenMs: toFirstMs === null || waitedMs === null ? null : Math.max(0, toFirstMs - waitedMs),
        ranMs: firstMs === null ? null : endedMs - firstMs,
        finishReason: end === null ? null : end.finishReason.replace('-', '_'),
        errorCode,
        reasoningTokens: end?.usage.reasoningTokens ?? null,
        streamed,
      }
    },
  }
}
