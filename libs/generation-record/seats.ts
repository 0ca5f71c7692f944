/**
 * The seats of a generation (`scripts/seats.lua`), by their names, which have no blanks. Both lists are empty if the
 * generation is not a turn of a conversation.
 */
export type Seats = {
  /** The seats of the worker that claims the generation; two at most. */
  readonly taken: readonly string[]
  /** The seats by which a first lift looks for a worker; the first one that exists counts. */
  readonly sought: readonly string[]
  /** True if a first lift reserves the generation even if it finds no seat. */
  readonly isReserved: boolean
}

export const NO_SEATS: Seats = { taken: [], sought: [], isReserved: false }

/** How long a first lift reserves a generation. It is the constant of the same name in `scripts/seats.lua`. */
export const RESERVED_MS = 250
