import { DatabaseError } from 'pg'

/** SQLSTATE classes: connection, resources, operator intervention (a shutdown, a statement's time limit). */
const UNAVAILABLE = /^(?:08|53|57)/

/** Messages of errors that pg throws without a code, when a connection ended or could not be made. */
const LOST = /^(?:Connection terminated|timeout e|Query read timeout)/

/** Returns whether a query failed because the database could not answer now; the same query may work later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseError) return UNAVAILABLE.test(error.code ?? '')
  if (!(error instanceof Error)) return false
  // The error of a failed system call: refused, reset, not found.
  return 'syscall' in error || LOST.test(error.message)
}

/** Returns whether PostgreSQL rejects a value of the query for good: a data exception or a violated constraint. */
export function isRejectedValue(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
}

/**
 * Returns whether there was a deadlock, or a row appeared during the transaction: nothing was done, and the transaction
 * may be repeated.
 */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001')
}

/**
 * Returns whether a unique constraint was violated: the row exists already, or another transaction wrote it at the same
 * moment.
 */
export function isDuplicate(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23505'
}
