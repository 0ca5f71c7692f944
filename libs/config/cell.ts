import { z } from 'zod'

/** The name of a cell that shares no server with another one. */
const DEFAULT_CELL = 'main'

/** The field of every app that uses Redis. */
export const CellFields = {
  CELL: z
    .string()
    .regex(
      /^[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?$/,
      'expected small letters, digits, and . _ - between them',
    )
    .default(DEFAULT_CELL),
}

let joined = DEFAULT_CELL

/**
 * Names the cell of this process, before it opens anything; `runApp` does. The cell is a state of the process and no
 * argument, because a process belongs to one cell for its whole life, and a part that was not given the name would
 * silently work in another cell.
 */
export function joinCell(cell: string = DEFAULT_CELL): void {
  joined = cell
}

/** Returns the cell of this process. */
export const currentCell = () => joined
