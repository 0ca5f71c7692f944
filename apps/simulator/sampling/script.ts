/** What the engine is going to say in one call, whatever the sampling parameters. */
export type Script = {
  /** The token at `index` of this call; null when everything is said and the model wants to end. */
  readonly at: (index: number) => number | null
  /** What it says instead where it may not end, or may not say what it wanted. */
  readonly filler: (index: number) => number
  /** The end token that it chooses at `index`. */
  readonly endId: (index: number) => number
  /** Under a grammar nothing but the script is allowed. */
  readonly constrained: boolean
}
