import { sql, type Expression, type Kysely, type SqlBool } from 'kysely'
import { z } from 'zod'
import { Id, Text } from '#libs/admin-contract/fields.ts'
import type { Tables } from '../database/tables.ts'
import { AdminError } from '../resources/admin-error.ts'

/** Cursors are opaque to callers. A cursor is base64url text that identifies the last row of a page. */

const Seq = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt)

/** Returns the number of the row after which the page begins. Throws an AdminError for a wrong cursor. */
export function toSeq(cursor: string): bigint {
  return readCursor(Seq, decode(cursor))
}

/** Returns the sorted columns of the row after which the page begins. Throws an AdminError for a wrong cursor. */
export function toTuple(cursor: string, length: number): readonly string[] {
  return readCursor(z.array(Text).length(length), parseJson(decode(cursor)))
}

/**
 * Returns the time, to the microsecond, and the id of the row after which the page begins. Throws an AdminError for a
 * wrong cursor.
 */
export function toMoment(cursor: string): { readonly at: string; readonly id: string } {
  const [at, id] = readCursor(z.tuple([z.iso.datetime(), Id]), parseJson(decode(cursor)))
  return { at, id }
}

type PagedTable = 'accounts' | 'api_keys' | 'management_keys' | 'reservations' | 'admin_sessions'

/**
 * Returns the condition for rows after the row that the cursor names, in a list sorted by `created_at` and `id`, the
 * newest first. `alias` is the table's alias in the query. Throws an AdminError if there is no such row.
 */
export async function isAfterCursor(
  db: Kysely<Tables>,
  { table, alias }: { table: PagedTable; alias: string },
  cursor: string,
): Promise<Expression<SqlBool>> {
  const rowId = readCursor(Id, decode(cursor))
  const row = await db.selectFrom(table).select('id').where('id', '=', rowId).executeTakeFirst()
  if (row === undefined) throw wrongCursor()
  const [createdAt, id] = [sql.ref(`${alias}.created_at`), sql.ref(`${alias}.id`)]
  return sql<SqlBool>`(${createdAt}, ${id}) < (
    select c.created_at, c.id from ${sql.table(table)} c where c.id = ${rowId})`
}

export function toCursor(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** Makes a page. `rows` must have one row more than `limit` if there is another page. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  read: { item: (row: Row) => Item; cursor: (row: Row) => string },
): { data: Item[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    data: shown.map(read.item),
    nextCursor: rows.length > limit && last !== undefined ? toCursor(read.cursor(last)) : null,
  }
}

function decode(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}

function readCursor<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw wrongCursor()
}

function wrongCursor(): AdminError {
  return new AdminError('invalid_request', "'cursor': expected a cursor of an earlier answer", 'cursor')
}

/** Returns undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
