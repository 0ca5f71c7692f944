import type { NanoCredits } from '#libs/money/nano-credits.ts'
import type { TokenPrices } from '#libs/money/price.ts'

/** Sets credits aside for one generation. A repeated call with the same id and fields gets the same answer. */
export type ReserveCall = {
  /** UUID, the generation's id. */
  readonly reservationId: string
  readonly keyId: string
  readonly model: string
  /** The gateway's estimate. */
  readonly inputTokens: number
  /** The wanted number of output tokens; 0 for embeddings. */
  readonly outputTokens: number
  /** The generation's hard deadline, Unix milliseconds. */
  readonly deadlineMs: number
  /**
   * If present, a hold on a small balance may pay for fewer tokens than `outputTokens` and grow later. If absent, the
   * hold pays at once for all of these tokens, or for as many as the credits pay for.
   */
  readonly rolling?: RollingHold
} & OfChoices

/** The field of calls for a request that wants several answers to its one input. */
type OfChoices = {
  /**
   * How many answers the request wants. All numbers of output tokens, in the calls and in their answers, are sums over
   * these answers; the model's limits are limits of each. Absent: one.
   */
  readonly choices?: number
}

/**
 * A reserve with these fields asks for a hold that may grow while its generation runs. At first the hold pays for one
 * of these numbers of output tokens:
 * - all wanted tokens, if they cost at most an eighth of the available credits
 * - else `expectedTokens` (at least 1), the probable length of the answer, if the credits pay for them
 * - else as many tokens as the credits pay for. If these are fewer than `leastTokens`, the reserve is refused.
 */
export type RollingHold = { readonly expectedTokens: number; readonly leastTokens: number }

/**
 * Changes a hold while its generation runs. With `inputTokens`, the hold's amount is replaced by the amount for these
 * tokens, which is possible once. Without, the hold only grows, so calls may be repeated and may arrive in any order.
 */
export type ResizeCall = {
  readonly reservationId: string
  /** The number that a worker has counted. The amount so far was computed from the gateway's estimate of this number. */
  readonly inputTokens?: number
  /** The wanted total of output tokens, not the difference; 0 without `inputTokens` leaves the amount unchanged. */
  readonly outputTokens: number
  /** Unix milliseconds; absent leaves the deadline unchanged. */
  readonly deadlineMs?: number
} & OfChoices

export type HoldPrices = TokenPrices & { readonly cachedInputPriceNano: bigint }

/** The answer to a reserve or a resize. Only `granted` holds money. */
export type HoldAnswer =
  | {
      readonly status: 'granted'
      readonly amountNano: NanoCredits
      readonly outputTokens: number
      /**
       * True if the available credits pay for fewer output tokens than the call asks for: fewer than `expectedTokens`
       * if the call is a `ReserveCall` with `rolling`, else fewer than the call's `outputTokens`.
       */
      readonly clamped: boolean
      readonly prices: HoldPrices
      /** The grant, signed by billing. The settlement of the generation carries it. */
      readonly receipt: string
    }
  | {
      /**
       * With `insufficient-credits`, `availableNano` and `heldNano` are amounts of the account. With `key-limit`, they
       * are amounts of the key's spend limit in its present period.
       */
      readonly status: 'insufficient-credits' | 'key-limit'
      readonly availableNano: NanoCredits
      readonly heldNano: NanoCredits
    }
  /** The key has used up its requests or its tokens for this minute. */
  | { readonly status: 'key-rate'; readonly retryAfterS: number }
  | { readonly status: 'key-invalid' }
  | { readonly status: 'model-unknown' }
  /** The id is known with other parameters, or its money is no longer held. */
  | { readonly status: 'conflict' }

/** A key as gateways store it: its hash, never the key itself. */
export type BillingKey = {
  readonly keyId: string
  readonly accountId: string
  /** The account's share of a saturated model, within `ACCOUNT_WEIGHT`. */
  readonly weight: number
  readonly sha256: Buffer
  readonly active: boolean
  /** Unix milliseconds; null if the key never expires. */
  readonly expiresAtMs: number | null
  /** Ids of the models that the key may use; null for all models. */
  readonly models: readonly string[] | null
  /**
   * The reason for which the key cannot pay for even one token of any priced model. Null if it can pay, or if billing
   * does not know yet whether it can.
   */
  readonly shortage: KeyShortage | null
}

/**
 * The reason for which a key cannot pay, if billing knows it before a reservation. A gateway that has this reason does
 * no work for a request that would be refused. If billing knows no such reason, the reservation may still be refused.
 */
export type KeyShortage = {
  /** The amount that is used up: the account's credits, or the key's own spend limit in its period. */
  readonly of: 'account' | 'key-limit'
  readonly availableNano: NanoCredits
  readonly heldNano: NanoCredits
}

export type KeyChanges = {
  /** True if every key known so far must be forgotten before `keys` are stored. */
  readonly resync: boolean
  readonly keys: readonly BillingKey[]
}
