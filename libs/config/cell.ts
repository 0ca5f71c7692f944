import { z } from 'zod'

/** The cell of an installation that shares no server with another one. */
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
 * Sets the cell of this process; `runApp` calls it before anything is opened. The cell is a state of the process, not
 * an argument, for two reasons. A process belongs to one cell for its whole life. And if a caller forgot such an
 * argument, the called code would silently work in another cell.
 */
export function joinCell(cell: string = DEFAULT_CELL): void {
  joined = cell
}

/** Returns the cell of this process. */
export const currentCell = () => joined
