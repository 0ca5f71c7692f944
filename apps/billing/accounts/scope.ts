import { sql, type RawBuilder, type SqlBool } from 'kysely'

/**
 * The requests that a caller may read: the requests of its API key, or with a management key the requests of its
 * account.
 */
export type Scope = { readonly column: 'key_id' | 'account_id'; readonly id: string }

/** Returns the condition that a row of `usage`, `usage_hours` or `reservations` belongs to the scope. */
export function isOf({ column, id }: Scope): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} = ${id}`
}

/**
 * Returns the condition for rows after the last row of the previous page, in a list with the newest row first. The
 * cursor contains the time of that last row, in microseconds, and its id. The schema of the operation
 * (`#libs/account-contract`) has validated the cursor's form.
 */
export function isBefore(
  cursor: string | undefined,
  columns: { readonly time: string; readonly id: string },
): RawBuilder<SqlBool> {
  if (cursor === undefined) return sql<SqlBool>`true`
  const [time, id] = [cursor.slice(0, cursor.indexOf('-')), cursor.slice(cursor.indexOf('-') + 1)]
  return sql<SqlBool>`(${sql.ref(columns.time)}, ${sql.ref(columns.id)}) < (
    timestamptz 'epoch' + ${time}::bigint * interval '1 microsecond', ${id}::uuid)`
}
