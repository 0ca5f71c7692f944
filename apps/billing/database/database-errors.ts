import { DatabaseError } from 'pg'

/**
 * SQLSTATE codes of errors after which the same statement may succeed in another session or at a later time.
 * - Whole classes: 08 connection, 28 refused login, 3D missing database (during a restore), 40 conflict, 53 resources,
 *   57 operator intervention (a shutdown, a statement's time limit).
 * - Single codes: 25006, the session may not write; 25P03 and 25P04, the session's time is over; 55P03, a lock is not
 *   free; 55006, an object is in use; 58030, the server failed to read or write a file.
 */
const UNAVAILABLE = /^(?:08|28|3D|40|53|57|25006|25P03|25P04|55P03|55006|58030)/

/** Messages of errors that pg throws without a code, when a connection ended or could not be made. */
const LOST = /^(?:Connection terminated|timeout e|Query read timeout)/

/** Returns whether a query failed because the database could not answer now; the same query may work later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseError) return UNAVAILABLE.test(error.code ?? '')
  if (!(error instanceof Error)) return false
  // The error of a failed system call: refused, reset, not found.
  return 'syscall' in error || LOST.test(error.message)
}

/**
 * Returns whether the error means that the session may not write: the server is a standby, or the session began while
 * the database was read-only. The failed statement has changed nothing, and another session may be allowed to write.
 */
export function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '25006'
}

/**
 * Handles an error in `catch`, after a write that may be left out: ignores the error of a session that may not write,
 * and throws every other error.
 */
export function ignoreReadOnly(error: unknown): void {
  if (!isReadOnly(error)) throw error
}

/** Returns whether PostgreSQL rejects a value of the query for good: a data exception or a violated constraint. */
export function isRejectedValue(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
}

/**
 * Returns whether the error has one of two causes: a deadlock, or a change of the data while an SQL function of billing
 * ran (SQLSTATE `serialization_failure`). The transaction has changed nothing and may be repeated.
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

/** Returns whether the role of the session lacks a right. The same query works once the right is granted. */
export function isMissingRight(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '42501'
}
