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
import { UNCHARGED_WORK } from './or-unavailable.ts'

/**
 * The conditions for a generation that passed the first half of admission. They are checked exactly when its record is
 * lifted.
 */
export type Admission = {
  readonly place: Place
  /** Notes the cost of what waits before the generation. */
  queued(costAhead: number): void
  /** Ends the generation's wait. May be called again. `waitedMs`: how long it waited, if its worker reports it. */
  claimed(claim: { readonly waitedMs?: number }): void
  /** Notes that output has begun, so the grammars are compiled. May be called again. */
  compiled(): void
  /** Notes that the generation has ended, claimed or not. May be called again. */
  leave(): void
  /** Turns the record's refusal into `model_busy`, and remembers it for the account's next requests. */
  refuse(busy: Extract<Lift, { status: 'busy' }>): ApiError
}

/** Throws `insufficient_credits`, `model_unavailable`, `model_busy` or `model_warming`. */
export type Admit = (call: GenerationCall) => Admission

/**
 * The first half of admission, in memory, before any money is reserved. Unavailable: the model is disabled, or no ready
 * worker serves it. Warming: no worker is ready, but a scaler starts one. Busy: the generations queued *before this
 * account's own tag* take longer than the drain bound, so an account that floods the queue makes the model busy for
 * itself alone. Both the queue and what the engines do in a second are counted in tokens, so large requests count as
 * much as many small ones. Only the record can check that exactly. So that a flood reaches neither billing nor the
 * queue, this function refuses the plain cases: an account that the record refused a moment ago, and an account that
 * already has more waiting in this gateway alone.
 *
 * A request that is refused for lack of a worker or of room counts as demand, which makes a scaler start workers. So a
 * caller who cannot pay is refused before all other checks.
 *
 * Some models of the sandbox have a fixed state in the catalog and are always refused with it.
 */
export function createAdmit(deps: {
  picture: Pick<ClusterPicture, 'find'>
  modelStates: Pick<KnownModelStates, 'find'>
  demand: Pick<Demand, 'count'>
  /** True if this account has sent too many requests that kill engines. */
  isBarred: (accountId: string) => boolean
  /** True if this gateway keeps as many settlements as it may. It then takes no new work. */
  settlementsFull: () => boolean
  expectCost: ExpectCost
  /** How long the generations ahead may take. */
  drainBoundMs: number
  /** The length of a generation until one has been measured. */
  assumedGenerationMs: number
  random: () => number
  nowMs: () => number
}): Admit {
  const { picture, modelStates, demand, isBarred, settlementsFull, random, nowMs } = deps
  const { expectCost, drainBoundMs, assumedGenerationMs } = deps
  const refusals = createRefusals(nowMs)
  const waiting = createWaiting()
  const slowness = createSlowness()
  const grammars = createGrammarBound()

  return (call) => {
    const { caller, model, size, isRepeated } = call
    const count = (outcome: OfferOutcome) => demand.count({ model: model.id, isRepeated, outcome })
    refuseShortage(caller, [model])
    if (!model.enabled) throw unavailable(model.id)
    if (model.fixedState !== null) throw FIXED_STATES[model.fixedState](model.id)
    const serving = picture.find(model.id)
    if (serving === null) {
      count('unserved')
      throw unserved(model.id, modelStates.find(model.id), random)
    }
    if (settlementsFull()) {
      throw new ApiError('model_unavailable', UNCHARGED_WORK, { retryAfterS: RETRY_AFTER_S.dependencyDown })
    }
    if (isBarred(caller.accountId)) throw busy(model.id, RETRY_AFTER_S.barredAccount)
    const account = `${model.id} ${caller.accountId}`
    const known = refusals.find(account)
    if (known !== null) {
      count('busy')
      throw busy(model.id, spreadRetry(known, random))
    }

    const { cost, fixedCost } = expectCost(call)
    const meanMs = serving.meanGenerationMs ?? assumedGenerationMs
    const slotPerMs = serving.slotTokensPerS === null ? cost / meanMs : serving.slotTokensPerS / 1_000
    const fullPerMs = serving.slots * slotPerMs
    const perMs = fullPerMs / slowness.of(account)
    const mostAhead = Math.ceil(freeSlots(serving) * slotPerMs * meanMs + drainBoundMs * perMs)
    // Up to as many generations as there are slots may be claimed without this gateway's knowledge.
    const ownAhead = waiting.cost(account) - fullPerMs * meanMs
    // Each claim lowers the waiting tokens by a whole generation, of which half has passed on average.
    const untilRoomMs = (tooMuch: number) => tooMuch / perMs + meanMs / serving.slots / 2
    if (ownAhead > mostAhead) {
      count('busy')
      throw busy(model.id, spreadRetry(untilRoomMs(ownAhead - mostAhead), random))
    }
    const grammar = grammars.enter(account, size)
    if (grammar === null) throw compiling(model.id)
    const endWait = waiting.enter(account, cost)
    let costAhead: number | null = null
    return {
      place: { accountId: caller.accountId, weight: caller.weight, cost, fixedCost, mostAhead },
      queued(ahead) {
        costAhead = ahead
      },
      claimed({ waitedMs }) {
        endWait()
        if (costAhead !== null && waitedMs !== undefined) {
          slowness.learn(account, { waitedMs, expectedMs: costAhead / fullPerMs })
        }
        costAhead = null
      },
      compiled: grammar.compiled,
      leave() {
        endWait()
        grammar.leave()
      },
      refuse({ reason, ahead }) {
        const waitMs = reason === 'bytes' ? BYTES_WAIT_MS : untilRoomMs(ahead - mostAhead)
        refusals.add(account, waitMs)
        count('busy')
        return busy(model.id, spreadRetry(waitMs, random))
      },
    }
  }
}

/** Used when too many bytes wait; a part of them is claimed within a second or two. */
const BYTES_WAIT_MS = 2_000
/**
 * A refusal holds for half of its wait, and at most for this long, because the queue may move faster than estimated.
 */
const MOST_REFUSED_MS = 1_000
const MOST_REFUSALS = 10_000

/** The record's latest refusals, by model and account. */
function createRefusals(nowMs: () => number) {
  const byAccount = new Map<string, { freeMs: number; untilMs: number }>()
  return {
    /** Returns how long the account must still wait, or null. */
    find(account: string): number | null {
      const known = byAccount.get(account)
      if (known === undefined) return null
      if (nowMs() < known.untilMs) return known.freeMs - nowMs()
      byAccount.delete(account)
      return null
    },
    add(account: string, waitMs: number): void {
      if (byAccount.size >= MOST_REFUSALS) byAccount.clear()
      const now = nowMs()
      byAccount.set(account, { freeMs: now + waitMs, untilMs: now + Math.min(MOST_REFUSED_MS, waitMs / 2) })
    },
  }
}

/** The waits from which is learned; what a shorter one took depends on chance. */
const LEAST_LEARNED_MS = 1_000
const SLOWNESS_RANGE = { min: 0.5, max: 10 }
const SLOWNESS_SHARE = 0.05

/**
 * How many times longer the generations of an account wait than the engines need for what waits before them when they
 * arrive: other accounts send more, and their share of that comes before as well. By model and account.
 */
function createSlowness() {
  const known = new LRUCache<string, number>({ max: MOST_REFUSALS })
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
 * Returns the refusal for a model without a ready worker. Waiting helps only if a scaler starts a worker or is about
 * to. A worker that is missing for another reason (no GPU was found for ten minutes, the model is allowed no worker, no
 * scaler runs) may come back at any time or never.
 */
function unserved(model: string, state: ModelState | null, random: () => number): ApiError {
  if (state?.state !== 'warming' && state?.state !== 'stopped') return unavailable(model)
  const { etaMs } = state
  const retryAfterS =
    etaMs === null ? RETRY_AFTER_S.startUnknown : (etaMs * (1 + random() * START_SPREAD)) / 1_000
  const when =
    etaMs === null ? '' : ` A worker is expected in about ${Math.max(1, Math.ceil(etaMs / 1_000))} s.`
  return new ApiError('model_warming', `The model '${model}' is starting.${when} Please try again later.`, {
    retryAfterS,
  })
}

/**
 * The share of the time until a start that is added at random, so that clients refused together return at different
 * times.
 */
const START_SPREAD = 0.2

function unavailable(model: string): ApiError {
  return new ApiError('model_unavailable', `The model '${model}' is not available right now.`)
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

function compiling(model: string): ApiError {
  const message = `Too many new schemas of this account are being compiled for the model '${model}'. Please try again later.`
  return new ApiError('model_busy', message, { retryAfterS: RETRY_AFTER_S.newGrammars })
}

const freeSlots = ({ slots, running }: ModelPicture) => Math.max(0, slots - running)

/**
 * The share of a wait that is added at random, so that clients refused together return at different times. It is small,
 * because the wait is measured and a client should not wait much longer.
 */
const BUSY_SPREAD = 0.1

/** Returns seconds. */
function spreadRetry(waitMs: number, random: () => number): number {
  return (waitMs * (1 + random() * BUSY_SPREAD)) / 1_000
}
