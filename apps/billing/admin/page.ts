import { sql, type Expression, type Kysely, type SqlBool } from 'kysely'
import { z } from 'zod'
import type { Tables } from '../database/tables.ts'
import { AdminError } from './admin-error.ts'
import { Id, Text, countIn } from './fields.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 500

const WRONG_CURSOR = 'expected a cursor of an earlier answer'

/** Where a page begins: opaque to callers, the text within is the operation's. */
const CursorText = z
  .string()
  .max(1_000)
  .transform((text) => Buffer.from(text, 'base64url').toString())

/** After a row with this number. */
export const SeqCursor = CursorText.pipe(z.string().regex(/^\d{1,18}$/, WRONG_CURSOR)).transform(BigInt)

/** After the row with this id. */
export const IdCursor = CursorText.pipe(Id)

/** After the row whose sorted columns are these texts. */
export const TupleCursor = CursorText.transform((text, context) => {
  try {
    return z.array(Text).parse(JSON.parse(text))
  } catch {
    context.addIssue({ code: 'custom', message: WRONG_CURSOR })
    return z.NEVER
  }
})

export const Limit = countIn({ min: 1, max: MAX_LIMIT }).default(DEFAULT_LIMIT)

export function pageOf<Item extends z.ZodType>(name: string, item: Item) {
  return z
    .object({
      data: z.array(item),
      nextCursor: z
        .string()
        .nullable()
        .meta({ description: 'Of the page after this one; null: it is the last.' }),
    })
    .meta({ id: name })
}

export function toCursor(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** `rows` was asked for with one row more than `limit`, which tells whether there are others. */
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

/**
 * The rows of a list, newest first by `created_at` and `id`, that come after the one with the cursor's id. `alias` is
 * the table's in the query. Throws an AdminError when there is no such row.
 */
export async function isAfterCursor(
  db: Kysely<Tables>,
  { table, alias }: { table: 'accounts' | 'api_keys' | 'reservations'; alias: string },
  cursor: string,
): Promise<Expression<SqlBool>> {
  const row = await db.selectFrom(table).select('id').where('id', '=', cursor).executeTakeFirst()
  if (row === undefined) throw new AdminError('invalid_request', `'cursor': ${WRONG_CURSOR}`, 'cursor')
  const [createdAt, id] = [sql.ref(`${alias}.created_at`), sql.ref(`${alias}.id`)]
  return sql<SqlBool>`(${createdAt}, ${id}) < (
    select c.created_at, c.id from ${sql.table(table)} c where c.id = ${cursor})`
}
