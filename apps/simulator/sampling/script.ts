/** The tokens that the engine wants to write in one call, before sampling parameters are applied. */
export type Script = {
  /** The token at `index` of this call; null after the last token, where the model wants to end. */
  readonly at: (index: number) => number | null
  /** The token that replaces `at` where the call may not end or the wanted token is not allowed. */
  readonly filler: (index: number) => number
  /** The end token that the engine chooses at `index`. */
  readonly endId: (index: number) => number
  /** True under a grammar, which allows no token other than `at` and `endId`. */
  readonly constrained: boolean
  /** True if the grammar allows no token after the last one of `at`, not even an end token. */
  readonly isDeadEnd?: boolean
}
