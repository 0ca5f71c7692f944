import { LRUCache } from 'lru-cache'
import type { ModelPicture } from '../../demand/cluster-picture.ts'
import { RETRY_AFTER_RANGE_S } from '../../retry-after.ts'

/** Describes how much too long the queue is for a request. Costs are tokens. */
export type Excess = {
  /** The cost of the generations that wait before the refused one. */
  readonly ahead: number
  /** The most cost that may wait before it. */
  readonly mostAhead: number
  /** How much of the cost before the account's generations the engines take in a millisecond. */
  readonly perMs: number
  /** The mean time between two claims of the model's generations. */
  readonly claimMs: number
  /** The slots of the model. */
  readonly slots: number
}

/**
 * The accounts that a model refuses because it is busy for them. Every function takes the names of a model and an account
 * as one text. All times are in ms.
 */
export type Refusals = {
  /**
   * Returns for how long all requests of the account are still refused, or 0. The wait ends early, but its promise stays,
   * if the model in its present state has room for the account. `model` is null if no worker is ready.
   */
  leftMs(account: string, model: ModelPicture | null): number
  /** Returns the cost before the next request for which the account was promised room; 0 without a promise. */
  promisedAhead(account: string): number
  /** Refuses the account until there is room for its next request. Returns how long that will probably take. */
  refuse(account: string, excess: Excess): number
  /** Refuses the account for a fixed time, without a promise. Returns that time. */
  refuseFor(account: string, waitMs: number): number
  /** Notes that a request of the account was admitted, which ends a promise whose time has come. */
  admitted(account: string): void
}

const MOST_ACCOUNTS = 10_000
const MOST_WAIT_MS = 1_000 * RETRY_AFTER_RANGE_S.max
/**
 * A promise is kept for this long after its time. Clients come up to a second later because `retry-after` has whole
 * seconds, and up to 6 s later because long waits are spread.
 */
const KEPT_MS = 8_000
/**
 * The margin is the part of a wait that is learned. It is added to the time that the engines need for the cost ahead:
 * it takes longer until there is room, because other accounts send requests meanwhile, and because answers have
 * different lengths. A broken promise multiplies the margin by `LONGER`, a kept promise by `SHORTER`. So the margin
 * settles where one of ln(LONGER) / -ln(SHORTER) + 1 promises is broken, which is one of 41.
 */
const LONGER = 1.5
const SHORTER = 0.99
/** Multiplies the margin if the wait ends early, because it was too long. */
const TOO_LONG = 0.8
/** Before the first promise of an account the margin is the time of this many claims, at most half of the drain bound. */
const FIRST_CLAIMS = 8
type Known = {
  /** Null before the first promise. */
  marginMs: number | null
  freeMs: number
  /** How many slots the model had at the refusal; null if the length of the queue was not the reason. */
  readonly slots: number | null
  /** Null after the promise was kept, and if there was none. */
  promise: { readonly mostAhead: number } | null
}

/**
 * Remembers refusals, and keeps what `retry-after` promises:
 * - Until the wait is over, every request of the account is refused, with the rest of the wait. Otherwise a request that
 *   happens to come in a better moment would take the room of the clients that wait for `retry-after`.
 * - When the wait is over, the bound that was in force at the refusal still holds for the account's next request, even
 *   if the engines have become slower since. So the account has to wait only until the engines have taken the cost that
 *   was above this bound.
 *
 * The waits cost no throughput: when an account is refused, its queue is as long as it may be, and a wait ends early if
 * the engines have room.
 */
export function createRefusals(deps: { drainBoundMs: number; nowMs: () => number }): Refusals {
  const { drainBoundMs, nowMs } = deps
  const byAccount = new LRUCache<string, Known>({ max: MOST_ACCOUNTS })

  /** Returns the promise whose time has come and is not over yet. */
  function findDue(known: Known | undefined): Known['promise'] {
    if (known === undefined || nowMs() < known.freeMs || nowMs() > known.freeMs + KEPT_MS) return null
    return known.promise
  }

  const leftMs = (account: string) => Math.max(0, (byAccount.get(account)?.freeMs ?? 0) - nowMs())

  return {
    leftMs(account, model) {
      const left = leftMs(account)
      const known = byAccount.get(account)
      if (left === 0 || known === undefined || stillHolds(known, model)) return left
      known.freeMs = nowMs()
      if (known.marginMs !== null) known.marginMs *= TOO_LONG
      return 0
    },
    promisedAhead: (account) => findDue(byAccount.get(account))?.mostAhead ?? 0,
    refuse(account, { ahead, mostAhead, perMs, claimMs, slots }) {
      // Several requests may be on their way to the record when it refuses the first one.
      const left = leftMs(account)
      if (left > 0) return left
      const known = byAccount.get(account)
      const wasBroken = findDue(known) !== null
      const before = known?.marginMs ?? Math.min(FIRST_CLAIMS * claimMs, drainBoundMs / 2)
      // With a longer margin, the queue of a refused account could be empty before its wait ends.
      const marginMs = Math.min(drainBoundMs, Math.max(claimMs, wasBroken ? before * LONGER : before))
      // Each claim takes a whole generation from the queue, so there is room only after the next claim. On average,
      // half of the time between two claims is left until that claim.
      const roomMs = (ahead - mostAhead) / perMs + claimMs / 2
      const waitMs = Math.min(MOST_WAIT_MS, roomMs + marginMs)
      byAccount.set(account, { marginMs, freeMs: nowMs() + waitMs, slots, promise: { mostAhead } })
      return waitMs
    },
    refuseFor(account, waitMs) {
      const left = leftMs(account)
      if (left > 0) return left
      const marginMs = byAccount.get(account)?.marginMs ?? null
      byAccount.set(account, {
        marginMs,
        freeMs: nowMs() + waitMs,
        slots: null,
        promise: null,
      })
      return waitMs
    },
    admitted(account) {
      const known = byAccount.get(account)
      // A request that was on its way when the account was refused has nothing to do with the promise.
      if (known === undefined || findDue(known) === null) return
      if (known.marginMs !== null) known.marginMs *= SHORTER
      known.promise = null
    },
  }
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
function stillHolds({ slots }: Known, model: ModelPicture | null): boolean {
  if (model === null) return slots === null
  return isFull(model) && (slots === null || model.slots <= MOST_GROWN * slots)
}
