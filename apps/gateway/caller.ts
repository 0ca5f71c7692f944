/** An authenticated caller: its API key and the account that pays. */
export type Caller = {
  readonly keyId: string
  readonly accountId: string
  /** Ids of the models that the key may use; null: all. */
  readonly models: ReadonlySet<string> | null
}
