import type { KeyShortage } from '#libs/billing-client/billing-calls.ts'

/** An authenticated caller: its API key and the account that pays. */
export type Caller = {
  readonly keyId: string
  readonly accountId: string
  /** The account's share of a saturated model, relative to other accounts. */
  readonly weight: number
  /** Ids of the models that the key may use; null for all models. */
  readonly models: ReadonlySet<string> | null
  /**
   * The reason why the caller cannot pay for anything; null if it can pay. `unconfirmed`: the key could not pay when it
   * was last read, and billing cannot be asked now.
   */
  readonly shortage: KeyShortage | 'unconfirmed' | null
}

/** An authenticated management key, which manages the API keys of its account and can never spend. */
export type Manager = { readonly managementKeyId: string; readonly accountId: string }
