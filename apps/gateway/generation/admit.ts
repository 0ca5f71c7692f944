import { LRUCache } from 'lru-cache'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelState } from '#libs/event-bus/scaling-signals.ts'
import type { Lift, Place } from '#libs/generation-record/generation-record.ts'
import type { ClusterPicture, ModelPicture } from '../demand/cluster-picture.ts'
import type { Demand, OfferOutcome } from '../demand/demand.ts'
import type { KnownModelStates } from '../demand/model-states.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { ExpectCost } from './expected-cost.ts'
import type { GenerationCall } from './generation-call.ts'
import { createGrammarBound } from './grammar-bound.ts'
import { refuseShortage } from './insufficient-credits.ts'
import { Interruption } from './interrupted.ts'
import { UNCHARGED_WORK } from './or-unavailable.ts'
import type { Refusals, Refused } from './refusals.ts'
import type { StartWait, StartWaits } from './start-waits.ts'

/**
 * The result of the first half of admission. The record does the second half when the generation is lifted: the record
 * knows the cost of the generations that wait before this one, and compares it with `mostAhead` of `place`. The caller
 * must call `queued` when the record has admitted the generation, `claimed` when a worker has claimed it, `compiled`
 * when output has begun, and `leave` when the generation has ended.
 */
export type Admission = {
  readonly place: Place
  /** The wait for the model's start, if no worker was ready; null if one was. */
  readonly startWait: StartWait | null
  /** Notes the cost of the generations that wait before this one. */
  queued(costAhead: number): void
  /** Ends the generation's wait. May be called again. `waitedMs`: how long it waited, if its worker reports it. */
  claimed(claim: { readonly waitedMs?: number }): void
  /** Notes that output has begun, so the grammars are compiled. May be called again. */
  compiled(): void
  /** Notes that the generation has ended, claimed or not. May be called again. */
  leave(): void
  /**
   * Called when the record has answered the lift `busy`. Returns the error for the request, and remembers the refusal
   * for the account's next requests. The error is `model_busy` if a worker was ready, else `model_warming` or
   * `model_unavailable`.
   */
  refuse(busy: Extract<Lift, { status: 'busy' }>): ApiError
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
  const slowness = createSlowness()
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
    const known = refusals.find(account)
    if (known !== null) {
      if (stillHolds(known, found)) throw refuseNow(known.waitMs)
      refusals.endEarly(account)
    }

    const serving = found ?? STARTING
    const { cost, fixedCost } = expectCost(call)
    const meanMs = serving.meanGenerationMs ?? assumedGenerationMs
    const slotPerMs = serving.slotTokensPerS === null ? cost / meanMs : serving.slotTokensPerS / 1_000
    const fullPerMs = serving.slots * slotPerMs
    const perMs = fullPerMs / slowness.of(account)
    const bound = Math.ceil(freeSlots(serving) * slotPerMs * meanMs + drainBoundMs * perMs)
    const promised = Math.min(refusals.promisedAhead(account), PROMISED_SHARE * bound)
    const mostAhead = isUnserved ? NO_BOUND : Math.max(bound, promised)
    // Generations of one account are served in order. Workers may have claimed some of them although this gateway does
    // not know it yet. These are at most as many as the model has slots, so the tokens of that many generations are
    // subtracted.
    const ownAhead = waiting.cost(account) - fullPerMs * meanMs
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
    let costAhead: number | null = null
    return {
      place: { accountId: caller.accountId, weight: caller.weight, cost, fixedCost, mostAhead },
      startWait,
      queued(ahead) {
        // The wait for a model's start says nothing about the speed of the queue.
        if (!isUnserved) costAhead = ahead
        refusals.admitted(account)
      },
      claimed({ waitedMs }) {
        endWait()
        startWait?.end('started')
        if (costAhead !== null && waitedMs !== undefined) {
          slowness.learn(account, { waitedMs, expectedMs: costAhead / fullPerMs })
        }
        costAhead = null
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

/** The slowness is learned only from waits that should take at least this long. Shorter waits depend on chance. */
const LEAST_LEARNED_MS = 1_000
const SLOWNESS_RANGE = { min: 0.5, max: 10 }
/** The weight of the newest wait in the moving mean. */
const SLOWNESS_SHARE = 0.05
const MOST_ACCOUNTS = 10_000

/**
 * The slowness of an account at a model: how long a generation of the account waits, divided by the time that the
 * engines need for the tokens that wait before this generation when it arrives. It is usually above 1, because other
 * accounts send further requests meanwhile, and some of these are served first.
 */
function createSlowness() {
  const known = new LRUCache<string, number>({ max: MOST_ACCOUNTS })
  return {
    of: (account: string) => known.get(account) ?? 1,
    learn(account: string, { waitedMs, expectedMs }: { waitedMs: number; expectedMs: number }): void {
      if (expectedMs < LEAST_LEARNED_MS) return
      const { min, max } = SLOWNESS_RANGE
      const measured = Math.min(max, Math.max(min, waitedMs / expectedMs))
      const before = known.get(account) ?? 1
      known.set(account, before + (measured - before) * SLOWNESS_SHARE)
    },
  }
}

/**
 * The cost of the generations that wait in this gateway for their reservation, their lift or their claim, by model and
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

/**
 * Returns the refusal for a model without a ready worker. It is `model_warming` if a scaler starts a worker or is about
 * to start one, because then waiting helps. In all other cases it is `model_unavailable`, because a worker may come at
 * any time or never: no GPU was found for ten minutes, the model is allowed no worker, or no scaler runs.
 */
function unserved(
  model: string,
  { state, random, cause }: { state: ModelState | null; random: () => number; cause?: Interruption },
): ApiError {
  if (state?.state !== 'warming' && state?.state !== 'stopped') return unavailable(model, cause)
  const { etaMs } = state
  const retryAfterS =
    etaMs === null ? RETRY_AFTER_S.startUnknown : (etaMs * (1 + random() * START_SPREAD)) / 1_000
  const when =
    etaMs === null ? '' : ` A worker is expected in about ${Math.max(1, Math.ceil(etaMs / 1_000))} s.`
  return new ApiError('model_warming', `The model '${model}' is starting.${when} Please try again later.`, {
    retryAfterS,
    cause,
  })
}

/**
 * The retry-after is the time until the worker's start, plus a random part of at most this share of that time. So
 * clients that are refused together return at different times.
 */
const START_SPREAD = 0.2

function unavailable(model: string, cause?: Interruption): ApiError {
  return new ApiError('model_unavailable', `The model '${model}' is not available right now.`, { cause })
}

const FIXED_STATES = {
  busy: (model: string) => busy(model, RETRY_AFTER_S.fixedBusy),
  warming: (model: string) =>
    new ApiError('model_warming', `The model '${model}' is starting. Please try again later.`, {
      retryAfterS: RETRY_AFTER_S.fixedWarming,
    }),
}

function busy(model: string, retryAfterS: number, cause?: Interruption): ApiError {
  const message = `The model '${model}' is busy. Please try again later.`
  return new ApiError('model_busy', message, { retryAfterS, cause })
}

function compiling(model: string): ApiError {
  const message = `Too many new schemas of this account are being compiled for the model '${model}'. Please try again later.`
  return new ApiError('model_busy', message, { retryAfterS: RETRY_AFTER_S.newGrammars })
}

/**
 * A model is full if its engines run at least this part of their slots: even full engines have a few free slots between
 * two claims. If the model is not full, the queue does not have enough work for the engines, so a refused account is
 * admitted again before its wait is over.
 */
const FULL_SHARE = 0.9
const isFull = ({ slots, running }: ModelPicture) =>
  running > 0 && (running >= FULL_SHARE * slots || slots - running < 2)

/**
 * A refused account is also admitted again before its wait is over if the model has more than this many times the slots
 * that it had at the refusal: workers have come, or heartbeats were lost for a moment.
 */
const MOST_GROWN = 1.25

/** Returns whether an earlier refusal still counts. A long queue is no reason where a model has no ready worker. */
function stillHolds({ slots }: Refused, found: ModelPicture | null): boolean {
  if (found === null) return slots === null
  return isFull(found) && (slots === null || found.slots <= MOST_GROWN * slots)
}
const freeSlots = ({ slots, running }: ModelPicture) => Math.max(0, slots - running)

/**
 * Returns the retry-after in seconds: the wait plus a random part, so that clients which are refused together return at
 * different times. The random part is at most a tenth of the wait. It is also so small that the retry-after, rounded up
 * to a whole second, is at most a fifth longer than the wait. Short waits have no random part: rounding alone spreads
 * clients that were refused at different times over a second.
 */
function spreadRetry(waitMs: number, random: () => number): number {
  const mostMs = Math.min(0.1 * waitMs, Math.max(0, 0.2 * waitMs - 1_000))
  return (waitMs + random() * mostMs) / 1_000
}
