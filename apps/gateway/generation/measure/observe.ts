import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { GenerationClaimed, GenerationEnd, Usage } from '#libs/contracts/generation-event.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { Demand } from '../../demand/demand.ts'
import type { BookedRequest, Queued, RequestBook, RequestEntry } from '../../reports/request-book.ts'
import { RETRY_AFTER_S, toRetryAfterS } from '../../retry-after.ts'
import type { GenerationCall } from '../request/generation-call.ts'
import type { GenerationMetrics } from './generation-metrics.ts'

/**
 * Notes the moments of one request, once each, in its entry of the book. The metrics, the timing of the settlement and the
 * console's view are computed from them.
 */
export type Observed = {
  /** The generation is in the queue. */
  admitted(queued: Queued): void
  /** The generation waits for its model's start, so its time to the first token is not measured. */
  awaitsStart(): void
  /** A worker runs the generation. Only the first call counts. */
  claimed(claim: Pick<GenerationClaimed, 'waitedMs'>): void
  /** Output arrived. Only the first call counts. */
  output(): void
  /** The generation failed. Called at most once, before `ended`. */
  failed(error: unknown): void
  /** Returns the timing for the settlement. `end` is the end of the complete output, null for every other end. */
  timing(end: GenerationEnd | null): SettlementTiming
  /** The generation has ended. Called once. `usage` is the usage of a complete output, null for every other end. */
  ended(usage: Usage | null): void
}

export type Observe = (call: GenerationCall) => Observed

/**
 * The error codes that are outcomes of admission, with the outcome's name. Other refusals, such as the refusal of a
 * revoked key, are not outcomes of admission.
 */
const REFUSALS: Partial<Record<ApiErrorCode, string>> = {
  model_busy: 'busy',
  model_warming: 'warming',
  model_unavailable: 'unavailable',
  insufficient_credits: 'no-credits',
}

type ObserveDeps = {
  metrics: GenerationMetrics
  demand: Pick<Demand, 'count'>
  book: Pick<RequestBook, 'open'>
  /** The monotonic clock of `GenerationCall.receivedMs`. */
  nowMs: () => number
}

/** Observes generations. Each call opens the generation's entry in the book. */
export function createObserve(deps: ObserveDeps): Observe {
  return (call) => new ObservedGeneration(call, deps)
}

/** A class, because a gateway has one instance for each open stream. */
class ObservedGeneration implements Observed {
  readonly #call: GenerationCall
  readonly #deps: ObserveDeps
  readonly #booked: BookedRequest
  readonly #label: string
  #awaitsStart = false
  #errorType: string | null = null

  constructor(call: GenerationCall, deps: ObserveDeps) {
    const { id, caller, model, receivedMs } = call
    this.#call = call
    this.#deps = deps
    this.#label = deps.metrics.model(model.id)
    this.#booked = deps.book.open({ id, accountId: caller.accountId, model: model.id, receivedMs })
  }

  admitted(queued: Queued) {
    const { metrics, demand } = this.#deps
    const { model, isRepeated } = this.#call
    this.#booked.admitted(queued)
    metrics.admissions.inc({ model: this.#label, outcome: 'admitted' })
    demand.count({ model: model.id, isRepeated, outcome: 'accepted' })
  }

  awaitsStart() {
    this.#awaitsStart = true
  }

  claimed(claim: Pick<GenerationClaimed, 'waitedMs'>) {
    this.#booked.claimed(claim)
  }

  output() {
    this.#booked.output()
  }

  failed(error: unknown) {
    const { metrics } = this.#deps
    const model = this.#label
    const code = error instanceof ApiError ? error.code : 'upstream_error'
    this.#errorType = code
    const outcome = REFUSALS[code]
    if (this.#booked.entry.admittedMs !== null || outcome === undefined) return
    metrics.admissions.inc({ model, outcome })
    if (error instanceof ApiError && (code === 'model_busy' || code === 'model_warming')) {
      const retryAfterS = toRetryAfterS(error.retryAfterS ?? RETRY_AFTER_S.default)
      metrics.retryAfterS.observe({ model, outcome }, retryAfterS)
    }
  }

  timing(end: GenerationEnd | null) {
    const { streamed, signal } = this.#call
    // A caller who leaves also ends the generation, without a failure.
    const errorCode = signal.aborted ? null : this.#errorType
    return toTiming(this.#booked.entry, { end, errorCode, streamed, endedMs: this.#deps.nowMs() })
  }

  ended(usage: Usage | null) {
    const { metrics, nowMs } = this.#deps
    const { request, choices = 1, receivedMs, signal } = this.#call
    const labels = {
      gen_ai_operation_name: request.kind === 'chat' ? 'chat' : 'embeddings',
      gen_ai_request_model: this.#label,
    }
    const endedMs = nowMs()
    // A caller who leaves also ends the generation, without a failure.
    const code = usage === null && !signal.aborted ? (this.#errorType ?? 'upstream_error') : null
    this.#booked.ended({ code, usage })
    if (usage === null) {
      const left = signal.aborted ? 'client_gone' : 'upstream_error'
      metrics.durationS.observe(
        { ...labels, error_type: this.#errorType ?? left },
        (endedMs - receivedMs) / 1_000,
      )
      return
    }
    metrics.durationS.observe(labels, (endedMs - receivedMs) / 1_000)
    metrics.tokens.observe({ ...labels, gen_ai_token_type: 'input' }, usage.promptTokens)
    metrics.tokens.observe({ ...labels, gen_ai_token_type: 'output' }, usage.completionTokens)
    const firstOutputMs = this.#booked.entry.outputMs
    if (firstOutputMs === null) return
    if (!this.#awaitsStart) metrics.firstTokenS.observe(labels, (firstOutputMs - receivedMs) / 1_000)
    // The tokens of several choices are written at the same time.
    if (usage.completionTokens < 2 || choices > 1) return
    const perTokenMs = (endedMs - firstOutputMs) / (usage.completionTokens - 1)
    metrics.perTokenS.observe(labels, perTokenMs / 1_000)
  }
}

/**
 * The wait is the time from the queueing to the first claim, as the queue Redis measured it. The gateway cannot measure it
 * itself, because a worker may publish its claim only with the first token. The pause of a recovery counts as running time.
 */
function toTiming(
  { admittedMs, ahead, claimedMs, waitedMs, outputMs }: RequestEntry,
  ending: { end: GenerationEnd | null; errorCode: string | null; streamed: boolean; endedMs: number },
): SettlementTiming {
  const { end, errorCode, streamed, endedMs } = ending
  const sinceQueuedMs = admittedMs === null ? null : endedMs - admittedMs
  const toFirstMs = admittedMs === null || outputMs === null ? null : outputMs - admittedMs
  return {
    waitedMs: claimedMs === null ? sinceQueuedMs : waitedMs,
    ahead,
    firstTokenMs: toFirstMs === null || waitedMs === null ? null : Math.max(0, toFirstMs - waitedMs),
    ranMs: outputMs === null ? null : endedMs - outputMs,
    finishReason: end === null ? null : end.finishReason.replace('-', '_'),
    errorCode,
    reasoningTokens: end?.usage.reasoningTokens ?? null,
    streamed,
  }
}
