/** What one look at the settlement streams of one Redis showed. */
export type StreamObservations = {
  readonly runId: string
  readonly observedAtMs: number
  readonly streams: readonly {
    readonly model: string
    readonly lastId: { readonly ms: bigint; readonly seq: bigint }
    /** Redis time up to which all is settled; null: not known. */
    readonly settledUntilMs: number | null
    /** Redis time of a look that this database has taken, as Redis was told; null: none. */
    readonly confirmedMs: number | null
  }[]
}

/** A stream of whose settlements the database may have forgotten some. */
export type ForgottenStream = {
  readonly model: string
  /** Redis time from which on; null: all. */
  readonly fromMs: number | null
}
