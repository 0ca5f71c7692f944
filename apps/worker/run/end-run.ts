import { ChatTemplateError } from '#libs/chat-template/chat-renderer.ts'
import type {
  GenerationDeclined,
  GenerationError,
  GenerationEvent,
} from '#libs/contracts/generation-event.ts'
import { ConstraintError } from '#libs/dialect/constrain-output.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { VectorsNotTaken } from './embedding/deliver-vectors.ts'
import { EngineError } from '../engine/engine-error.ts'
import type { ChoiceEnding, RunningChoice, RunningGeneration, StopReason } from './running-generation.ts'
import type { EngineWatch } from '../engine-watch/watch-engine.ts'

/** How a run ended. */
export type RunEnding =
  | CompletedChoice
  /** This worker cannot run the generation: its gateway queues it again, with another hold or for another worker. */
  | {
      readonly status: 'declined'
      readonly reason: 'hold-too-small' | 'misfit'
      readonly promptTokens: number
      readonly requirement: string
    }
  /** The request cannot run; the error is public. */
  | { readonly status: 'refused'; readonly error: Omit<GenerationError, 'type'> }
  /** The run was stopped before it was complete. */
  | { readonly status: 'stopped'; readonly reason: StopReason }
  /** A step threw. */
  | { readonly status: 'failed'; readonly error: unknown }

/**
 * The choice that ended last, if all have ended. `events` is the last output. It is sent together with the end: if the
 * gateway received the output without the end, a later epoch would send the output again.
 */
export type CompletedChoice = {
  readonly status: 'completed'
  readonly choice: RunningChoice
  readonly events: readonly GenerationEvent[]
  readonly end: ChoiceEnding
}

/** Publishes the last event of a run, if its gateway waits for one. */
export type EndRun = (run: RunningGeneration, ending: RunEnding) => Promise<void>

/**
 * Ends runs. The gateway settles the output that it received; a worker only reports how its run ended. A run that ends
 * by the fault of this worker or its engine is handed back, so that it continues elsewhere.
 */
export function createEndRun(deps: {
  watch: Pick<EngineWatch, 'failureSeen' | 'callFailed'>
  onHandBack: (reason: GenerationDeclined['reason']) => void
  log: Logger
}): EndRun {
  const { watch, onHandBack, log } = deps

  return async (run, ending) => {
    switch (ending.status) {
      case 'completed':
        ending.choice.end(ending.events, ending.end)
        break
      case 'declined':
        handBack(run, ending)
        break
      case 'refused':
        fail(run, ending.error)
        break
      case 'stopped':
        endStopped(run, ending.reason)
        break
      case 'failed':
        await endFailed(run, ending.error)
        break
    }
  }

  /**
   * Ends a run that was stopped. It is not called for a chat that has output when it reaches its deadline: such a chat
   * completes with the reason `length`.
   */
  function endStopped(run: RunningGeneration, reason: StopReason): void {
    switch (reason) {
      case 'unwanted':
        run.report()
        break
      case 'gateway-dead':
        break
      case 'deadline':
        fail(run, TOO_LATE)
        break
      case 'worker-stopping':
      case 'engine-lost':
        handBack(run, { reason, blame: run.blame })
        break
    }
  }

  async function endFailed(run: RunningGeneration, error: unknown): Promise<void> {
    // If the engine is gone, all of its runs are stopped, and this run ends as a stopped run.
    if (error instanceof EngineError) await watch.callFailed(error.kind)
    const reason = run.stopReason()
    if (reason !== null) endStopped(run, reason)
    else if (error instanceof VectorsNotTaken) handBack(run, { reason: 'incomplete' })
    else endByItself(run, error)
  }

  /**
   * Ends a run in which a step failed.
   * - If the error is the caller's fault (see `toGenerationError`), the generation fails.
   * - If the engine is healthy and had begun to answer, the request is at fault, and the generation fails.
   * - Otherwise the run is handed back.
   *
   * A failure without output, or at a gap in the output, counts against the engine. A failure without output makes the
   * run a suspect, so that a request that fails everywhere is found at its second engine. But if the engine was
   * unavailable or has lost tokens, the failed call shows nothing about the request.
   */
  function endByItself(run: RunningGeneration, error: unknown): void {
    const failure = toGenerationError(error)
    if (failure.code !== 'upstream_error') return fail(run, failure)
    log.error({ err: error, ...toLogFields(run) }, 'generation failed')
    const kind = error instanceof EngineError ? error.kind : 'failed'
    if (!run.hasOutput() || kind === 'gap') watch.failureSeen()
    if (!run.hasOutput()) {
      handBack(run, { reason: 'engine-lost', blame: kind === 'failed' ? 'suspect' : 'none' })
    } else if (kind !== 'failed' && kind !== 'damaged') {
      handBack(run, { reason: 'engine-lost' })
    } else {
      fail(run, failure)
    }
  }

  function handBack(
    run: RunningGeneration,
    given: Pick<GenerationDeclined, 'reason'> & Partial<Omit<GenerationDeclined, 'type'>>,
  ): void {
    const { reason, promptTokens = 0, requirement = '', blame = 'none' } = given
    const after = run.earlierTokens + run.output.tokens
    log.info({ ...toLogFields(run), epoch: run.epoch, reason, requirement, blame, after }, 'handed back')
    run.span.event('handed-back', { reason })
    onHandBack(reason)
    run.send([{ type: 'generation-declined', reason, promptTokens, requirement, blame }])
  }

  function fail(run: RunningGeneration, error: Omit<GenerationError, 'type'>): void {
    run.span.fail(error.code)
    run.send([{ type: 'generation-error', ...error }])
  }
}

/**
 * Returns the public error of a failed generation. A prompt that the template refuses, a constraint that the model
 * cannot follow and a request that the engine refuses are the caller's fault. Every other failure is a fault of the
 * service, and its message describes nothing internal.
 */
function toGenerationError(error: unknown): Omit<GenerationError, 'type'> {
  if (error instanceof ChatTemplateError || error instanceof ConstraintError) {
    return { code: 'invalid_request', message: error.message }
  }
  if (error instanceof EngineError && error.kind === 'refused') {
    return { code: 'invalid_request', message: error.message }
  }
  if (error instanceof EngineError && error.kind === 'dead-end') {
    return { code: 'invalid_request', message: DEAD_END, isCharged: true }
  }
  return { code: 'upstream_error', message: 'The inference backend failed.' }
}

const toLogFields = ({ job, span }: RunningGeneration) => ({ requestId: job.id, traceId: span.traceId })

const DEAD_END =
  'the model’s engine cannot constrain the output to this schema or grammar; the prompt is charged'

const TOO_LATE = {
  code: 'model_unavailable',
  message: 'The deadline passed before there was an answer.',
} as const
