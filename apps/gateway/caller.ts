/** An authenticated caller: its API key and the account that pays. */
export type Caller = {
  readonly keyId: string
  readonly accountId: string
  /** Ids of the models that the key may use; null: all. */
  readonly models: ReadonlySet<string> | null
}

/** An authenticated management key, which manages the API keys of its account and can never spend. */
export type Manager = { readonly managementKeyId: string; readonly accountId: string }
