import type { HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { GenerationShort } from '#libs/contracts/generation-event.ts'
import type { Hold } from '#libs/contracts/generation-job.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { AnsweredHold } from '#libs/event-bus/worker-control.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Dispatched } from '../dispatch/dispatch.ts'
import { toHold } from './reserve.ts'

/**
 * Called when a worker reports that a running generation has few paid tokens left. Asks billing for a larger hold, and
 * sends billing's answer to the worker. Returns at once, so that the output goes on meanwhile. The worker asks again
 * until it has an answer.
 */
export type GrowHold = (
  generation: {
    readonly dispatched: Pick<Dispatched, 'job' | 'growHold'>
    readonly inbox: Pick<StreamInbox, 'stream' | 'worker' | 'epoch'>
  },
  short: GenerationShort,
) => void

/**
 * The results of a request to billing for a larger hold:
 * - `granted`: the hold is larger.
 * - `short`: other generations hold the credits, or the key's minute is full. So a later request may succeed.
 * - `refused`: the hold does not grow, and no later request is made.
 * - `unavailable`: billing did not answer.
 */
export const HOLD_GROWTHS = ['granted', 'short', 'refused', 'unavailable'] as const
export type HoldGrowth = (typeof HOLD_GROWTHS)[number]

export function createGrowHold(deps: {
  billing: Pick<BillingClient, 'resize'>
  answerHold: (worker: string, answered: AnsweredHold) => void
  onGrowth: (growth: HoldGrowth) => void
  log: Logger
}): GrowHold {
  const { billing, answerHold, onGrowth, log } = deps
  /**
   * The ids of generations for which billing has been asked for a larger hold and has not answered yet. If billing is
   * slow, the worker asks the gateway again before that answer; the gateway then ignores the second request.
   */
  const underWay = new Set<string>()

  return ({ dispatched, inbox }, { amountNano, moreTokens }) => {
    const { id, hold, choices } = dispatched.job()
    const worker = inbox.worker()
    if (worker === null) return
    const { stream } = inbox
    const epoch = inbox.epoch()
    const answer = (isFinal: boolean) =>
      answerHold(worker, { stream, epoch, amountNano: dispatched.job().hold.amountNano, isFinal })
    // The hold is already larger than the worker knows, because the last answer did not reach the worker. So the answer
    // is sent again.
    if (BigInt(hold.amountNano) > BigInt(amountNano)) return answer(false)
    if (underWay.has(id)) return
    underWay.add(id)
    const grow = async () => {
      const extended = await billing.resize({
        reservationId: id,
        outputTokens: hold.outputTokens + moreTokens,
        ...(choices !== undefined && { choices }),
      })
      const growth = toGrowth(extended, hold)
      onGrowth(growth)
      if (extended.status === 'granted') dispatched.growHold(toHold(extended))
      // After `short` the worker asks again even if it gets no answer.
      if (growth !== 'short') answer(growth === 'refused')
    }
    grow()
      .catch((error: unknown) => {
        onGrowth('unavailable')
        log.debug({ err: error, requestId: id }, 'a hold did not grow')
      })
      .finally(() => underWay.delete(id))
  }
}

/**
 * A grant that is not larger than the present hold counts as `refused`, because the model allows no more output. A lack
 * of credits counts as `short` if a later request may find credits.
 */
function toGrowth(extended: HoldAnswer, before: Hold): HoldGrowth {
  const amountNano = BigInt(before.amountNano)
  switch (extended.status) {
    case 'granted':
      return extended.amountNano > amountNano ? 'granted' : 'refused'
    case 'insufficient-credits':
    case 'key-limit':
      return extended.heldNano > amountNano ? 'short' : 'refused'
    case 'key-rate':
      return 'short'
    case 'key-invalid':
    case 'model-unknown':
    case 'conflict':
      return 'refused'
  }
}
