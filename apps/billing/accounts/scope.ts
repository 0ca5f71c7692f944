import { sql, type RawBuilder, type SqlBool } from 'kysely'

/** Whose requests a caller reads: those of its own key, or with a management key those of its account. */
export type Scope = { readonly column: 'key_id' | 'account_id'; readonly id: string }

/** Of a row of `usage`, `usage_hours` or `reservations`. */
export function isOf({ column, id }: Scope): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} = ${id}`
}

/**
 * The rows of a list, newest first, that come after the last one of the page before. A cursor is that row's time in
 * microseconds and its id, as the contract checks it.
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
