import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationClaimed, GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'

/** Measures one generation for its settlement. It reads the clock only a few times, however long the generation is. */
export type Timing = {
  /** The generation is in the queue, behind `ahead` other generations; null if the number is unknown. */
  queued(ahead: number | null): void
  claimed(claim: Pick<GenerationClaimed, 'waitedMs'>): void
  /** Output arrived. Only the first call counts. */
  output(): void
  failed(error: unknown): void
  end(end: GenerationEnd | null): SettlementTiming
}

/**
 * Creates the timing of one generation. The wait is the time from the queueing to the first claim, as the queue Redis
 * measured it. The gateway cannot measure the wait itself, because a worker may publish its claim only with the first
 * token. The gateway itself measures the times after the wait. The pause of a recovery counts as running time.
 */
export function createTiming(options: { streamed: boolean; nowMs: () => number }): Timing {
  return new GenerationTiming(options)
}

/**
 * A gateway has one object of this class for each open stream. Methods of a class are shared; closures would be made
 * for each object.
 */
class GenerationTiming implements Timing {
  readonly #streamed: boolean
  readonly #nowMs: () => number
  #queuedMs: number | null = null
  #ahead: number | null = null
  #wasClaimed = false
  #waitedMs: number | null = null
  #firstMs: number | null = null
  #errorCode: string | null = null

  constructor({ streamed, nowMs }: { streamed: boolean; nowMs: () => number }) {
    this.#streamed = streamed
    this.#nowMs = nowMs
  }

  queued(ahead: number | null) {
    this.#queuedMs = this.#nowMs()
    this.#ahead = ahead
  }

  claimed({ waitedMs }: Pick<GenerationClaimed, 'waitedMs'>) {
    if (!this.#wasClaimed) this.#waitedMs = waitedMs ?? null
    this.#wasClaimed = true
  }

  output() {
    this.#firstMs ??= this.#nowMs()
  }

  failed(error: unknown) {
    this.#errorCode = error instanceof ApiError ? error.code : 'upstream_error'
  }

  end(end: GenerationEnd | null): SettlementTiming {
    const endedMs = this.#nowMs()
    const [queuedMs, firstMs, waitedMs] = [this.#queuedMs, this.#firstMs, this.#waitedMs]
    const sinceQueuedMs = queuedMs === null ? null : endedMs - queuedMs
    const toFirstMs = queuedMs === null || firstMs === null ? null : firstMs - queuedMs
    return {
      waitedMs: this.#wasClaimed ? waitedMs : sinceQueuedMs,
      ahead: this.#ahead,
      firstTokenMs: toFirstMs === null || waitedMs === null ? null : Math.max(0, toFirstMs - waitedMs),
      ranMs: firstMs === null ? null : endedMs - firstMs,
      finishReason: end === null ? null : end.finishReason.replace('-', '_'),
      errorCode: this.#errorCode,
      reasoningTokens: end?.usage.reasoningTokens ?? null,
      streamed: this.#streamed,
    }
  }
}
