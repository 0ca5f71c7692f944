import type { GenerationDeclined, GenerationEnd, GenerationError } from '#libs/contracts/generation-event.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RunningGeneration, StopReason } from './running-generations.ts'
import type { Settlements } from './settlements.ts'
import { toGenerationError } from './to-generation-error.ts'
import type { EngineWatch } from './watch-engine.ts'

/** How a run ended. Only `completed`, and `stopped` by the caller, are charged. */
export type RunEnding =
  | { readonly status: 'completed'; readonly finishReason: GenerationEnd['finishReason'] }
  /** Given back without output; the gateway queues it again. */
  | ({ readonly status: 'declined' } & Omit<GenerationDeclined, 'type'>)
  /** The request cannot run; the error is public. */
  | { readonly status: 'refused'; readonly error: Omit<GenerationError, 'type'> }
  /** Before it was complete. */
  | { readonly status: 'stopped'; readonly reason: StopReason }
  /** A step threw. */
  | { readonly status: 'failed'; readonly error: unknown }

export type EndRun = (run: RunningGeneration, ending: RunEnding) => void

/** Publishes the last event of a run, if its gateway waits for one, and settles the run, unless it was declined. */
export function createEndRun(deps: {
  settlements: Pick<Settlements, 'add'>
  watch: Pick<EngineWatch, 'failureSeen'>
  log: Logger
}): EndRun {
  const { settlements, watch, log } = deps

  return (run, ending) => {
    switch (ending.status) {
      case 'completed':
        run.send({ type: 'generation-end', finishReason: ending.finishReason, usage: run.usage }, [])
        settlements.add(run, 'completed')
        break
      case 'declined': {
        const { reason, promptTokens } = ending
        run.send({ type: 'generation-declined', reason, promptTokens }, [])
        break
      }
      case 'refused':
        fail(run, ending.error)
        break
      case 'stopped':
        endStopped(run, ending.reason)
        break
      case 'failed':
        fail(run, toPublicError(run, ending.error))
        break
    }
  }

  /** A deadline that ends here came before the engine was asked, or in an embedding; later in a chat, the run completes as `length`. */
  function endStopped(run: RunningGeneration, reason: StopReason): void {
    switch (reason) {
      case 'cancelled':
        settlements.add(run, 'cancelled')
        break
      case 'gateway-dead':
        settlements.add(run, 'fault')
        break
      case 'deadline':
        fail(run, TOO_LATE)
        break
      case 'worker-stopping':
      case 'engine-lost':
        fail(run, INTERRUPTED)
        break
    }
  }

  /** A failure of the engine counts against it, unless it had begun to answer. */
  function toPublicError(run: RunningGeneration, error: unknown) {
    const failure = toGenerationError(error)
    if (failure.code === 'upstream_error') {
      log.error({ err: error, generationId: run.job.id }, 'generation failed')
      if (!run.hasOutput) watch.failureSeen()
    }
    return failure
  }

  function fail(run: RunningGeneration, error: Omit<GenerationError, 'type'>): void {
    run.send({ type: 'generation-error', ...error }, [])
    settlements.add(run, 'fault')
  }
}

const TOO_LATE = {
  code: 'model_unavailable',
  message: 'The deadline passed before there was an answer; nothing is charged.',
} as const

const INTERRUPTED = {
  code: 'upstream_error',
  message: 'The generation was interrupted; nothing is charged for it.',
} as const
