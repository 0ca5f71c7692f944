import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import type { ClusterPicture, ModelPicture } from '../cluster-picture/cluster-picture.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { GenerationCall } from './generation-call.ts'
import { NO_NEW_WORK, orUnavailable } from './or-unavailable.ts'

/** Returns the generation's fair tag, or throws `model_unavailable`, `model_busy` or `model_warming`. */
export type Admit = (call: GenerationCall) => Promise<number>

/**
 * Unavailable: the model is disabled, or no ready worker serves it. Busy: the generations queued *before this account's
 * own tag* take longer than the drain bound, so an account that floods the queue makes the model busy for itself alone.
 * Some models of the sandbox have a fixed state in the catalog and are always refused with it.
 */
export function createAdmit(deps: {
  picture: ClusterPicture
  record: Pick<GenerationRecord, 'admit'>
  /** How long the generations ahead may take. */
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
      throw new ApiError('model_unavailable', `The model '${model.id}' is not available right now.`)
    }
    const perMs = serving.slots / (serving.meanGenerationMs ?? assumedGenerationMs)
    const mostAhead = freeSlots(serving) + Math.floor(drainBoundMs * perMs)

    const admission = await orUnavailable(
      record.admit(model.id, { id, accountId: caller.accountId, mostAhead }),
      NO_NEW_WORK,
    )
    if (!admission.admitted) {
      const untilRoomMs = (admission.ahead - mostAhead) / perMs
      throw busy(model.id, spreadRetry(untilRoomMs, random))
    }
    return admission.tag
  }
}

const FIXED_STATES = {
  busy: (model: string) => busy(model, RETRY_AFTER_S.fixedBusy),
  warming: (model: string) =>
    new ApiError('model_warming', `The model '${model}' is starting. Please try again later.`, {
      retryAfterS: RETRY_AFTER_S.fixedWarming,
    }),
}

function busy(model: string, retryAfterS: number): ApiError {
  return new ApiError('model_busy', `The model '${model}' is busy. Please try again later.`, { retryAfterS })
}

const freeSlots = ({ slots, running }: ModelPicture) => Math.max(0, slots - running)

/** In seconds. Up to half of the wait is added at random, so that clients refused together return apart. */
function spreadRetry(waitMs: number, random: () => number): number {
  return (waitMs * (1 + random() / 2)) / 1_000
}
