import type { Blame, GenerationDeclined } from '#libs/contracts/generation-event.ts'
import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import type { StreamLost } from '#libs/event-bus/stream-inbox.ts'
import { blameOfSilence, isKiller } from '#libs/generation-record/quarantine.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Caller } from '../callers/caller.ts'
import type { ClusterPicture, ModelPicture } from '../demand/cluster-picture.ts'
import { interrupted, Interruption } from './request/interrupted.ts'
import type { PoisonBound } from './admission/poison-bound.ts'
import type { Progress } from './measure/progress.ts'
import type { Reserve } from './holds/reserve.ts'
import type { StreamCounters } from './measure/stream-metrics.ts'

/**
 * Decides how a generation goes on after its worker gave it back or was lost. Returns three things:
 * - `requirement`: the feature, or the size of the context window, that the next worker must have; empty if there is none.
 * - `hold`: the new hold of the generation; null if the old hold stays.
 * - `engineDeaths`: the deaths of engines at which the generation was present until now (`quarantine.ts`).
 */
export type Recovery = (
  lost: GenerationDeclined | StreamLost,
  generation: {
    readonly job: GenerationJob
    readonly caller: Caller
    readonly progress: Progress
    /** The deaths of engines at which the generation was present before this epoch. */
    readonly engineDeaths: number
    /** The tokens or vectors that were received in this epoch. */
    readonly epochTokens: number
    /** True if the generation would have to begin anew although its client has seen a part of it. */
    readonly isPartlySent: boolean
    /** Returns the error of a generation whose model was not started in time. */
    readonly notStarted: () => ApiError
  },
) => Promise<{ readonly requirement: string; readonly hold: Hold | null; readonly engineDeaths: number }>

/**
 * A generation ends after this many engines have died while they ran it, even if no death proves that the generation
 * was the cause: each death interrupts all other generations of the engine.
 */
const MOST_DEATHS = 8
/** Bounds how often one generation is dispatched without any progress. */
const MOST_FRUITLESS_EPOCHS = 8

/**
 * Creates the recovery. It throws an `ApiError` if the generation cannot go on: `upstream_error`, `model_unavailable`,
 * `context_length_exceeded`, the error of `notStarted`, or the reservation's error.
 */
export function createRecovery(deps: {
  reserve: Pick<Reserve, 'exact'>
  picture: Pick<ClusterPicture, 'find'>
  metrics: Pick<StreamCounters, 'poisoned' | 'recoveries'>
  poisonBound: Pick<PoisonBound, 'isBarred' | 'note'>
  log: Logger
}): Recovery {
  const { reserve, picture, metrics, poisonBound, log } = deps

  function notePoison({ accountId, keyId }: Caller, { id, model }: GenerationJob): void {
    metrics.poisoned.inc()
    log.warn({ requestId: id, model, accountId, keyId }, 'a request that kills engines was ended')
    poisonBound.note(accountId)
  }

  return async (lost, generation) => {
    const { job, caller, progress, isPartlySent, notStarted } = generation
    if (lost.type === 'stream-lost') assertNotFinal(lost, { progress, notStarted })
    const blame = toBlame(lost, generation)
    const engineDeaths = generation.engineDeaths + (blame === 'none' ? 0 : 1)
    if (isKiller(blame, engineDeaths)) {
      notePoison(caller, job)
      throw interrupted('engine-deaths')
    }
    if (engineDeaths >= MOST_DEATHS || (engineDeaths > 0 && poisonBound.isBarred(caller.accountId))) {
      throw interrupted('engine-deaths')
    }
    progress.epochLost({ wasHandedBack: lost.type !== 'stream-lost' && lost.reason === 'engine-lost' })
    if (progress.fruitlessEpochs() >= MOST_FRUITLESS_EPOCHS) {
      // The generation gave no output in its last epochs. If several engines died while they ran it, it counts as a
      // request that kills engines.
      if (engineDeaths > 1) notePoison(caller, job)
      throw interrupted('fruitless')
    }
    if (isPartlySent) throw interrupted('constrained')
    metrics.recoveries.inc({ reason: lost.reason })
    log.info({ requestId: job.id, model: job.model, reason: lost.reason }, 'a generation goes on elsewhere')
    if (lost.type === 'stream-lost') return { requirement: '', hold: null, engineDeaths }
    const window = /^window:(\d+)$/.exec(lost.requirement)
    if (window !== null) assertServed(Number(window[1]), picture.find(job.model))
    const { requirement, promptTokens } = lost
    if (lost.reason !== 'hold-too-small') return { requirement, hold: null, engineDeaths }
    return { requirement, hold: await reserve.exact(job, promptTokens), engineDeaths }
  }
}

/** A generation in quarantine was in the engine of a dead worker only if the claim has arrived. */
function toBlame(
  lost: GenerationDeclined | StreamLost,
  { job, engineDeaths, epochTokens, progress }: Parameters<Recovery>[1],
): Blame {
  if (lost.type !== 'stream-lost') return lost.blame
  if (lost.reason !== 'worker-dead' || (engineDeaths > 0 && !progress.hasBegun())) return 'none'
  return blameOfSilence({
    kind: job.request.kind,
    engineDeaths,
    choices: job.choices ?? 1,
    tokens: epochTokens,
  })
}

/**
 * Refuses a prompt that fits the catalog's context window but not the window of any ready engine, because an engine
 * that can take the prompt may never come.
 */
function assertServed(window: number, serving: ModelPicture | null): void {
  if (serving === null || serving.contextWindow >= window) return
  throw new ApiError('context_length_exceeded', toOverflowMessage(serving))
}

/**
 * Throws in two cases: the generation cannot succeed with another worker either, or the gateway could not receive
 * another worker's events. If no worker had claimed the generation, nothing ran. The error is then `model_unavailable`,
 * or, for the reason `not-started`, the error of `notStarted`.
 */
function assertNotFinal(
  { reason }: StreamLost,
  { progress, notStarted }: { progress: Progress; notStarted: () => ApiError },
): void {
  switch (reason) {
    case 'worker-dead':
    case 'frames-lost':
    case 'not-running':
    case 'misfit':
      return
    case 'deadline':
    case 'bus-away':
    case 'settled':
    case 'no-worker':
    case 'gateway-stopping':
      if (progress.wasClaimed()) throw interrupted(reason)
      throw new ApiError('model_unavailable', 'No worker took this request in time.', {
        cause: new Interruption(reason),
      })
    case 'not-started':
      throw notStarted()
    case 'unreadable':
      throw interrupted(reason)
  }
}
