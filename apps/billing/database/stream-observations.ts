/** One observation of the settlement streams of one Redis. */
export type StreamObservations = {
  readonly runId: string
  readonly observedAtMs: number
  readonly streams: readonly {
    readonly model: string
    readonly lastId: { readonly ms: bigint; readonly seq: bigint }
    /** Redis time up to which everything is settled; null: unknown. */
    readonly settledUntilMs: number | null
    /** Redis time of the latest observation that this database has recorded, as stored in Redis; null: none. */
    readonly confirmedMs: number | null
  }[]
}

/** A stream whose latest settlements the database may have lost. */
export type ForgottenStream = {
  readonly model: string
  /** Redis time since which settlements may be lost; null: all of them. */
  readonly fromMs: number | null
}
