import { sql, type RawBuilder, type SqlBool } from 'kysely'

/** Whose requests a caller reads: those of its own key, or with a management key those of its account. */
export type Scope = { readonly column: 'key_id' | 'account_id'; readonly id: string }

/** Of a row of `usage`, `usage_hours` or `reservations`. */
export function isOf({ column, id }: Scope): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} = ${id}`
}
