import { ApiError } from '#libs/contracts/api-error.ts'
import { mostQueued } from '#libs/demand/demand.ts'
import type { EnqueueAnswer, Place } from '#libs/generation-record/generation-record.ts'
import type { ClusterPicture, ModelPicture } from '../../demand/cluster-picture.ts'
import type { Demand, OfferOutcome } from '../../demand/demand.ts'
import type { KnownModelStates } from '../../demand/model-states.ts'
import { RETRY_AFTER_S } from '../../retry-after.ts'
import { busy, compiling, FIXED_STATES, spreadRetry, unavailable, unserved } from './busy-errors.ts'
import type { ExpectCost } from '../estimates/expected-cost.ts'
import type { GenerationCall } from '../request/generation-call.ts'
import { createGrammarBound } from './grammar-bound.ts'
import { refuseShortage } from '../request/insufficient-credits.ts'
import { Interruption } from '../request/interrupted.ts'
import { UNCHARGED_WORK } from '../request/or-unavailable.ts'
import type { Refusals } from './refusals.ts'
import type { StartWait, StartWaits } from './start-waits.ts'

/**
 * The result of the first half of admission. The record does the second half when the generation is enqueued: the record
 * knows the cost of the generations that wait before this one, and compares it with `mostAhead` of `place`. The caller
 * must call `queued` when the record has admitted the generation, `claimed` when a worker has claimed it, `compiled`
 * when output has begun, and `leave` when the generation has ended.
 */
export type Admission = {
  readonly place: Place
  /** The wait for the model's start, if no worker was ready; null if one was. */
  readonly startWait: StartWait | null
  /** Notes that the record has admitted the generation. */
  queued(): void
  /** Ends the generation's wait. May be called again. */
  claimed(): void
  /** Notes that output has begun, so the grammars are compiled. May be called again. */
  compiled(): void
  /** Notes that the generation has ended, claimed or not. May be called again. */
  leave(): void
  /**
   * Called when the record has answered the enqueue `busy`. Returns the error for the request, and remembers the refusal
   * for the account's next requests. The error is `model_busy` if a worker was ready, else `model_warming` or
   * `model_unavailable`.
   */
  refuse(busy: Extract<EnqueueAnswer, { status: 'busy' }>): ApiError
  /** Returns the error of a generation whose model was not started in time. */
  notStarted(): ApiError
}

/** Throws `insufficient_credits`, `model_unavailable`, `model_busy` or `model_warming`. */
export type Admit = (call: GenerationCall) => Admission

/**
 * Returns the first half of admission, which works in memory, before any money is reserved. It refuses a request with
 * - `insufficient_credits` if the caller can pay for no request to the model (`refuseShortage`);
 * - `model_unavailable` if the model is disabled, if no ready worker serves it and no scaler starts one, or if this
 *   gateway keeps as many settlements as it may;
 * - `model_warming` if no worker is ready, but a scaler starts one, and the request does not wait for the start;
 * - `model_busy` if the generations that are queued *before the tag of the request's account* take longer than the
 *   drain bound, if the account has sent too many requests that kill engines (`poison-bound.ts`), or if too many of its
 *   new grammars are being compiled (`grammar-bound.ts`).
 *
 * The queue is counted in tokens, and the speed of the engines in tokens per second. So a large request counts as much
 * as many small ones.
 *
 * An account that floods the queue makes the model busy for itself alone, because only the generations before the
 * account's own tag count. Only the record knows exactly how many tokens these generations have. But this function
 * itself refuses a request in two cases, so that a flood reaches neither billing nor the queue: if too many tokens of
 * the account wait in this gateway alone, or if a request of the same account to the same model was refused and its wait
 * is not over (`refusals.ts`).
 *
 * A client may ask to wait for a model that is being started. Its request is then admitted if there is a place for it
 * (`start-waits.ts`). The request ends if no worker takes it in the time that the client allows.
 *
 * A request that is refused for lack of a worker or of room counts as demand, which makes a scaler start workers. So a
 * caller who cannot pay is refused before all other checks.
 *
 * The catalog gives some models of the sandbox a fixed state. These models always refuse requests, as the state says.
 */
export function createAdmit(deps: {
  picture: Pick<ClusterPicture, 'find'>
  modelStates: Pick<KnownModelStates, 'find'>
  demand: Pick<Demand, 'count'>
  startWaits: Pick<StartWaits, 'admits' | 'enter'>
  /** True if this account has sent too many requests that kill engines. */
  isBarred: (accountId: string) => boolean
  /** True if this gateway keeps as many settlements as it may. It then takes no new work. */
  settlementsFull: () => boolean
  expectCost: ExpectCost
  /** The accounts for which a model is busy. */
  refusals: Refusals
  /** The drain bound: the longest time that the engines may need for the generations ahead. */
  drainBoundMs: number
  /** The assumed duration of a model's generations until one has been measured. */
  assumedGenerationMs: number
  random: () => number
}): Admit {
  const { picture, modelStates, demand, startWaits, isBarred, settlementsFull, random } = deps
  const { expectCost, refusals, drainBoundMs, assumedGenerationMs } = deps
  const waiting = createWaiting()
  const grammars = createGrammarBound()

  return (call) => {
    const { caller, model, size, isRepeated } = call
    const count = (outcome: OfferOutcome) => demand.count({ model: model.id, isRepeated, outcome })
    refuseShortage(caller, [model])
    if (!model.enabled) throw unavailable(model.id)
    if (model.fixedState !== null) throw FIXED_STATES[model.fixedState](model.id)
    const found = picture.find(model.id)
    const isUnserved = found === null
    const refuseNow = (waitMs: number): ApiError => {
      count(isUnserved ? 'unserved' : 'busy')
      return isUnserved
        ? unserved(model.id, { state: modelStates.find(model.id), random })
        : busy(model.id, spreadRetry(waitMs, random))
    }
    if (isUnserved && !startWaits.admits(call)) throw refuseNow(0)
    if (settlementsFull()) {
      throw new ApiError('model_unavailable', UNCHARGED_WORK, { retryAfterS: RETRY_AFTER_S.dependencyDown })
    }
    if (isBarred(caller.accountId)) throw busy(model.id, RETRY_AFTER_S.barredAccount)
    const account = `${model.id} ${caller.accountId}`
    const leftMs = refusals.leftMs(account, found)
    if (leftMs > 0) throw refuseNow(leftMs)

    const serving = found ?? STARTING
    const { cost, fixedCost } = expectCost(call)
    const meanMs = serving.meanGenerationMs ?? assumedGenerationMs
    const slotPerMs = serving.slotTokensPerS === null ? cost / meanMs : serving.slotTokensPerS / 1_000
    const perMs = serving.slots * slotPerMs
    const drain = { free: freeSlots(serving) * slotPerMs * meanMs, perMs }
    const bound = Math.ceil(mostQueued(drainBoundMs, drain))
    const promised = Math.min(refusals.promisedAhead(account), PROMISED_SHARE * bound)
    const mostAhead = isUnserved ? NO_BOUND : Math.max(bound, promised)
    // Generations of one account are served in order. Workers may have claimed some of them although this gateway does
    // not know it yet. These are at most as many as the model has slots, so the tokens of that many generations are
    // subtracted.
    const ownAhead = waiting.cost(account) - perMs * meanMs
    const refuse = (ahead: number) =>
      refusals.refuse(account, {
        ahead,
        mostAhead,
        perMs,
        claimMs: meanMs / serving.slots,
        slots: serving.slots,
      })
    if (ownAhead > mostAhead) throw refuseNow(refuse(ownAhead))
    const grammar = grammars.enter(account, size)
    if (grammar === null) throw compiling(model.id)
    const endWait = waiting.enter(account, cost)
    const startWait = isUnserved ? startWaits.enter(call) : null
    return {
      place: { accountId: caller.accountId, weight: caller.weight, cost, fixedCost, mostAhead },
      startWait,
      queued: () => refusals.admitted(account),
      claimed() {
        endWait()
        startWait?.end('started')
      },
      compiled: grammar.compiled,
      leave() {
        endWait()
        startWait?.end(call.signal.aborted ? 'left' : 'failed')
        grammar.leave()
      },
      refuse({ reason, ahead }) {
        const waitMs = reason === 'bytes' ? refusals.refuseFor(account, BYTES_WAIT_MS) : refuse(ahead)
        startWait?.end('refused')
        return refuseNow(waitMs)
      },
      notStarted() {
        const cause = new Interruption('not-started')
        if (picture.find(model.id) !== null) return busy(model.id, RETRY_AFTER_S.default, cause)
        return unserved(model.id, { state: modelStates.find(model.id), random, cause })
      },
    }
  }
}

/** The assumed state of a model without a ready worker: one engine with one slot. */
const STARTING: ModelPicture = {
  slots: 1,
  running: 0,
  meanGenerationMs: null,
  slotTokensPerS: null,
  contextWindow: 0,
}
/**
 * While a model is being started, any number of tokens may wait before every generation. The queue of such a model is
 * bounded by two other limits: the number of requests that may wait for its start (`start-waits.ts`), and the number of
 * bytes that may be queued.
 */
const NO_BOUND = Number.MAX_SAFE_INTEGER
/**
 * The bound that was promised at a refusal is kept up to this many times the present bound. The present bound changes by
 * less while a client waits, unless workers have stopped.
 */
const PROMISED_SHARE = 1.25
/**
 * The assumed wait of a generation that is refused because too many bytes are queued. Workers usually claim some of the
 * queued generations within a second or two, and the queue then has fewer bytes.
 */
const BYTES_WAIT_MS = 2_000

/**
 * The cost of the generations that wait in this gateway for their reservation, their enqueue or their claim, by model and
 * account.
 */
function createWaiting() {
  const byAccount = new Map<string, number>()
  const costOf = (account: string) => byAccount.get(account) ?? 0

  function leave(account: string, cost: number): void {
    const left = costOf(account) - cost
    if (left > 0) byAccount.set(account, left)
    else byAccount.delete(account)
  }

  return {
    cost: costOf,
    /** Counts one generation until the returned function is called. */
    enter(account: string, cost: number): () => void {
      byAccount.set(account, costOf(account) + cost)
      let waits = true
      return () => {
        if (waits) leave(account, cost)
        waits = false
      }
    },
  }
}

const freeSlots = ({ slots, running }: ModelPicture) => Math.max(0, slots - running)
