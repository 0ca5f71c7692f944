import type { KeyShortage } from '#libs/billing-client/billing-calls.ts'

/** An authenticated caller: its API key and the account that pays. */
export type Caller = {
  readonly keyId: string
  readonly accountId: string
  /** Ids of the models that the key may use; null: all. */
  readonly models: ReadonlySet<string> | null
  /** Why it can pay for nothing; null: it can. Unconfirmed: so it was, and billing cannot be asked now. */
  readonly shortage: KeyShortage | 'unconfirmed' | null
}

/** An authenticated management key, which manages the API keys of its account and can never spend. */
export type Manager = { readonly managementKeyId: string; readonly accountId: string }
