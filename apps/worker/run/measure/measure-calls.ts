import type { Histogram } from '@prometheus-io/client'
import type { EngineClient } from '../../engine/engine-client.ts'
import { EngineError } from '../../engine/engine-error.ts'

/** Measures the calls of one engine for one operation. */
export type CallMeter = {
  /** Notes that a call begins. Call the result once, at its end. */
  begin(): (ending: CallEnding) => void
}

export type CallEnding = {
  /** The time of the first output, by the meter's clock; null if none came, or if the call has one answer. */
  readonly firstMs: number | null
  /** Why the call ended early: a failure, or the reason of a stop. */
  readonly error?: unknown
}

type Labels = 'gen_ai_operation_name' | 'gen_ai_request_model'

/** The histograms of the GenAI conventions, in seconds. */
export type CallHistograms = {
  readonly operationDuration: Histogram<Labels | 'error_type'>
  readonly timeToFirstChunk: Histogram<Labels>
}

export function createCallMeter(options: {
  histograms: CallHistograms
  model: string
  operation: 'chat' | 'embeddings'
  nowMs: () => number
}): CallMeter {
  const { histograms, model, operation, nowMs } = options
  const labels = { gen_ai_operation_name: operation, gen_ai_request_model: model }

  return {
    begin() {
      const beganMs = nowMs()
      return ({ firstMs, error }) => {
        const problem = error === undefined ? {} : { error_type: toErrorType(error) }
        histograms.operationDuration.observe({ ...labels, ...problem }, (nowMs() - beganMs) / 1_000)
        if (firstMs !== null) histograms.timeToFirstChunk.observe(labels, (firstMs - beganMs) / 1_000)
      }
    },
  }
}

/** Returns `embed` with a measurement of each call. */
export function measureEmbed(embed: EngineClient['embed'], meter: CallMeter): EngineClient['embed'] {
  return async (request, signal) => {
    const end = meter.begin()
    try {
      const answer = await embed(request, signal)
      end({ firstMs: null })
      return answer
    } catch (error) {
      end({ firstMs: null, error: signal.aborted ? 'stopped' : error })
      throw error
    }
  }
}

/** Returns one of few words: the reason of a stop, or the kind of an engine's failure. */
export function toErrorType(error: unknown): string {
  if (typeof error === 'string') return error
  return error instanceof EngineError ? error.kind : 'other'
}
