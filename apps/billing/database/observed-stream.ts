/** One observation of a settlement stream; times are those of its Redis server. */
export type ObservedStream = {
  readonly model: string
  readonly runId: string
  readonly observedAtMs: number
  readonly lastId: { readonly ms: bigint; readonly seq: bigint }
  /** Up to this time everything is settled; null: unknown. */
  readonly settledUntilMs: number | null
  /** Time of the latest observation that this database has recorded, as stored in Redis; null: none. */
  readonly confirmedMs: number | null
}

/** A stream whose latest settlements the database may have lost. */
export type ForgottenStream = {
  readonly model: string
  /** Redis time since which settlements may be lost; null: all of them. */
  readonly fromMs: number | null
}
