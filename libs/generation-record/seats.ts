/**
 * The seats of a generation (`scripts/seats.lua`), by their names, which have no blanks. Both lists are empty if the
 * generation is not a turn of a conversation.
 */
export type Seats = {
  /** The seats of the worker that claims the generation; two at most. */
  readonly taken: readonly string[]
  /** The seats by which a first enqueue looks for the generation's home; the first one that exists counts. */
  readonly sought: readonly string[]
  /** The home of the generation if its first enqueue finds no seat; null: none. */
  readonly otherwise: string | null
  /** For how long only its home may claim the generation; 2 s at most. */
  readonly heldMs: number
}

export const NO_SEATS: Seats = { taken: [], sought: [], otherwise: null, heldMs: 0 }
