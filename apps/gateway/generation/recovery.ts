import type { GenerationDeclined } from '#libs/contracts/generation-event.ts'
import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import type { StreamLost } from '#libs/event-bus/stream-inbox.ts'
import type { Caller } from '../callers/caller.ts'
import type { ClusterPicture, ModelPicture } from '../demand/cluster-picture.ts'
import { interrupted, Interruption } from './interrupted.ts'
import type { Progress } from './progress.ts'
import type { Reserve } from './reserve.ts'
import type { Suspect } from './suspects.ts'

/**
 * Decides how a generation goes on after its worker gave it back or was lost. Returns two things:
 * - `need`: the feature, or the size of the context window, that the next worker must have; empty if there is none.
 * - `hold`: the new hold of the generation; null if the old hold stays.
 */
export type Recovery = (
  lost: GenerationDeclined | StreamLost,
  generation: {
    readonly job: GenerationJob
    readonly caller: Caller
    readonly progress: Progress
    readonly suspect: Suspect
    /** True if the generation would have to begin anew although its client has seen a part of it. */
    readonly isPartlySent: boolean
    /** Returns the error of a generation whose model was not started in time. */
    readonly notStarted: () => ApiError
  },
) => Promise<{ readonly need: string; readonly hold: Hold | null }>

/**
 * A generation ends after this many engines have died while they ran it, even if no death proves that the generation
 * was the cause: each death interrupts all other generations of the engine.
 */
const MOST_DEATHS = 8
/** Bounds how often one generation is dispatched without any progress. */
const MOST_FRUITLESS_EPOCHS = 8

export type RecoveryNotes = {
  /** Called once for each request that kills engines, when it has ended. */
  readonly onPoison: (caller: Caller, job: GenerationJob) => void
  readonly onRecovery: (reason: string, job: GenerationJob) => void
}

/**
 * Creates the recovery. It throws an `ApiError` if the generation cannot go on: `upstream_error`, `model_unavailable`,
 * `context_length_exceeded`, the error of `notStarted`, or the reservation's error.
 */
export function createRecovery(
  deps: RecoveryNotes & {
    reserve: Pick<Reserve, 'exact'>
    picture: Pick<ClusterPicture, 'find'>
    /** True if this account has sent too many requests that kill engines. */
    isBarred: (accountId: string) => boolean
  },
): Recovery {
  const { reserve, picture, isBarred, onPoison, onRecovery } = deps

  return async (lost, { job, caller, progress, suspect, isPartlySent, notStarted }) => {
    if (lost.type === 'stream-lost') assertNotFinal(lost, { progress, notStarted })
    suspect.epochLost(lost.type === 'stream-lost' ? null : lost.blame)
    if (suspect.isKiller()) {
      onPoison(caller, job)
      throw interrupted('engine-deaths')
    }
    const deaths = suspect.engineDeaths().count
    if (deaths >= MOST_DEATHS || (deaths > 0 && isBarred(caller.accountId))) {
      throw interrupted('engine-deaths')
    }
    progress.epochLost({ wasHandedBack: lost.type !== 'stream-lost' && lost.reason === 'engine-lost' })
    if (progress.fruitlessEpochs() >= MOST_FRUITLESS_EPOCHS) {
      // The generation gave no output in its last epochs. If several engines died while they ran it, it counts as a
      // request that kills engines.
      if (deaths > 1) onPoison(caller, job)
      throw interrupted('fruitless')
    }
    if (isPartlySent) throw interrupted('constrained')
    onRecovery(lost.reason, job)
    if (lost.type === 'stream-lost') return { need: '', hold: null }
    const window = /^window:(\d+)$/.exec(lost.need)
    if (window !== null) assertServed(Number(window[1]), picture.find(job.model))
    const { need, promptTokens } = lost
    if (lost.reason !== 'hold-too-small') return { need, hold: null }
    return { need, hold: await reserve.exact(job, promptTokens) }
  }
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
