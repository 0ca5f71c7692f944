import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import type { ClusterPicture, ModelPicture } from '../cluster-picture/cluster-picture.ts'
import type { GenerationCall } from './generation-call.ts'

/** Lets a generation in and gives its fair tag, or throws `model_unavailable`, `model_busy` or `model_warming`. */
export type Admit = (call: GenerationCall) => Promise<number>

/**
 * Unavailable: the model is switched off, or nobody serves it. Busy: what is queued *before this tenant's own
 * tag* takes longer than the drain bound. So a flood makes the flooder busy, not its neighbours. A model whose state
 * the catalog fixes is refused as if it had been found so.
 */
export function createAdmit(deps: {
  picture: ClusterPicture
  record: Pick<GenerationRecord, 'admit'>
  /** How long what is ahead may take. */
  drainBoundMs: number
  /** The length of a generation where none has been measured yet. */
  assumedGenerationMs: number
  random: () => number
}): Admit {
  const { picture, record, drainBoundMs, assumedGenerationMs, random } = deps

  return async ({ id, caller, model }) => {
    if (model.enabled && model.fixedState !== null) throw FIXED_STATES[model.fixedState](model.id)
    const serving = model.enabled ? picture.find(model.id) : null
    if (serving === null) {
      throw new ApiError('model_unavailable', `The model '${model.id}' is not available right now.`, {
        retryAfterS: UNAVAILABLE_RETRY_S,
      })
    }
    const perMs = serving.slots / (serving.meanGenerationMs ?? assumedGenerationMs)
    const mostAhead = freeSlots(serving) + Math.floor(drainBoundMs * perMs)

    const admission = await record
      .admit(model.id, { id, accountId: caller.accountId, mostAhead })
      .catch((cause: unknown) => {
        throw new ApiError('model_unavailable', 'The service cannot take new work right now.', {
          retryAfterS: UNAVAILABLE_RETRY_S,
          cause,
        })
      })
    if (!admission.admitted) {
      const untilThereIsRoomMs = (admission.ahead - mostAhead) / perMs
      throw busy(model.id, spreadRetry(untilThereIsRoomMs, random))
    }
    return admission.tag
  }
}

/** A guess in the absence of a measured start time: long enough for a worker's restart to be noticed. */
const UNAVAILABLE_RETRY_S = 5

/** Always the same: who tests a client wants to see that it waited this long. */
const FIXED_STATES = {
  busy: (model: string) => busy(model, 2),
  warming: (model: string) =>
    new ApiError('model_warming', `The model '${model}' is starting. Please try again later.`, {
      retryAfterS: 10,
    }),
}

function busy(model: string, retryAfterS: number): ApiError {
  return new ApiError('model_busy', `The model '${model}' is busy. Please try again later.`, { retryAfterS })
}

const freeSlots = ({ slots, running }: ModelPicture) => Math.max(0, slots - running)

/** In seconds, spread by up to a half, so that those who are refused together do not come back together. */
function spreadRetry(waitMs: number, random: () => number): number {
  return (waitMs * (1 + random() / 2)) / 1_000
}
