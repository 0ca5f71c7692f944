import { DatabaseError } from 'pg'

/** PostgreSQL's classes: connection, resources, operator's intervention (a shutdown, and a statement's time limit). */
const AWAY = /^(?:08|53|57)/

/** What pg says of a connection that ended or that never was, without a code. */
const LOST = /^(?:Connection terminated|timeout e|Query read timeout)/

/** Whether a query failed because the database could not answer now; the same query may work later. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof DatabaseError) return AWAY.test(error.code ?? '')
  if (!(error instanceof Error)) return false
  // A failed system call: refused, reset, not found.
  return 'syscall' in error || LOST.test(error.message)
}

/** Deadlock detected, or a row appeared in the middle: nothing was done, the same transaction may be repeated. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001')
}
