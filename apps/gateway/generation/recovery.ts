import type { GenerationDeclined } from '#libs/contracts/generation-event.ts'
import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { StreamLost } from '#libs/event-bus/stream-inbox.ts'
import type { Caller } from '../callers/caller.ts'
import type { ClusterPicture, ModelPicture } from '../demand/cluster-picture.ts'
import { interrupted, Interruption } from './interrupted.ts'
import type { Progress } from './progress.ts'
import type { Reserve } from './reserve.ts'
import type { Suspect } from './suspects.ts'

/** Decides how a generation goes on whose worker gave it back or was lost: what the next worker needs, its new hold. */
export type Recovery = (
  lost: GenerationDeclined | StreamLost,
  generation: {
    readonly job: GenerationJob
    readonly caller: Caller
    readonly progress: Progress
    readonly suspect: Suspect
    /** It would have to begin anew, and its client has seen a part of it. */
    readonly isPartlySent: boolean
  },
) => Promise<{ readonly need: string; readonly hold: Hold | null }>

/** One that is there at so many deaths ends, although none of them proves anything: each costs all the others. */
const MOST_DEATHS = 8
/** Bounds how often one generation is dispatched without any progress. */
const MOST_FRUITLESS_EPOCHS = 8

/** Throws an `ApiError` where the generation cannot go on: `upstream_error`, `model_unavailable`, or the reservation's. */
export function createRecovery(deps: {
  reserve: Pick<Reserve, 'exact'>
  picture: Pick<ClusterPicture, 'find'>
  /** Whether this account has sent too many requests that kill engines. */
  isBarred: (accountId: string) => boolean
  /** A request ended that kills engines. */
  onPoison: (caller: Caller, job: GenerationJob) => void
  onRecovery: (reason: string, job: GenerationJob) => void
}): Recovery {
  const { reserve, picture, isBarred, onPoison, onRecovery } = deps

  return async (lost, { job, caller, progress, suspect, isPartlySent }) => {
    if (lost.type === 'stream-lost') assertNotFinal(lost, progress)
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
      // It gave nothing in any of them, and was there when engines died.
      if (deaths > 1) onPoison(caller, job)
      throw interrupted('fruitless')
    }
    if (isPartlySent) throw interrupted('constrained')
    onRecovery(lost.reason, job)
    if (lost.type === 'stream-lost') return { need: '', hold: null }
    const window = /^window:(\d+)$/.exec(lost.need)
    if (window !== null) assertServed(Number(window[1]), picture.find(job.model))
    const hold = lost.reason === 'hold-too-small' ? await reserve.exact(job, lost.promptTokens) : null
    return { need: lost.need, hold }
  }
}

/** The catalog allows a context that no engine has which is ready now: to wait for one would be a guess. */
function assertServed(window: number, serving: ModelPicture | null): void {
  if (serving === null || serving.contextWindow >= window) return
  throw new ApiError(
    'invalid_request',
    // LangChain recognizes an overflow by the words `exceeds the context window`.
    `The prompt exceeds the context window of ${serving.contextWindow} tokens: no token of output fits.`,
  )
}

/** No other worker could do better, or its events would not arrive. Before a claim nothing ran: then it is `model_unavailable`. */
function assertNotFinal({ reason }: StreamLost, progress: Progress): void {
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
    case 'unreadable':
      throw interrupted(reason)
  }
}
