import type { NanoCredits } from '#libs/money/nano-credits.ts'
import type { TokenPrices } from '#libs/money/price.ts'

/** Sets credits aside for one generation. Same id and same fields: the same answer, however often it is sent. */
export type ReserveCall = {
  /** UUID, the generation's id. */
  readonly reservationId: string
  readonly keyId: string
  readonly model: string
  /** Estimated. */
  readonly inputTokens: number
  /** Wanted; 0 for embeddings. */
  readonly outputTokens: number
  /** The generation's hard deadline, Unix milliseconds. */
  readonly deadlineMs: number
}

/** Replaces a hold's amount, once, with exact numbers. */
export type ReplaceCall = {
  readonly reservationId: string
  readonly inputTokens: number
  readonly outputTokens: number
}

export type HoldPrices = TokenPrices & { readonly cachedInputPriceNano: bigint }

/** Answer to a reserve or a replace. Only `granted` holds money. */
export type HoldAnswer =
  | {
      readonly status: 'granted'
      readonly amountNano: NanoCredits
      readonly outputTokens: number
      /** Money, neither the caller nor the model, set `outputTokens`. */
      readonly clamped: boolean
      readonly prices: HoldPrices
    }
  | {
      readonly status: 'insufficient-credits'
      readonly availableNano: NanoCredits
      readonly heldNano: NanoCredits
    }
  | { readonly status: 'key-invalid' }
  | { readonly status: 'model-unknown' }
  /** The id is known with other parameters, or its money is no longer held. */
  | { readonly status: 'conflict' }

/** What a gateway may know of a key: never the key itself. */
export type BillingKey = {
  readonly keyId: string
  readonly accountId: string
  readonly sha256: Buffer
  readonly active: boolean
  /** Unix milliseconds; null: never. */
  readonly expiresAtMs: number | null
}

export type KeyChanges = {
  /** Forget every key known so far, before taking `keys`. */
  readonly resync: boolean
  readonly keys: readonly BillingKey[]
}
