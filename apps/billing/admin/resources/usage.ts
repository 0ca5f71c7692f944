import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { Dimension, type Usage } from '#libs/admin-contract/resources/usage.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../admin-error.ts'
import { implementRead } from '../implement.ts'
import { assertKept, readOldestId } from '../kept-usage.ts'
import { toPage, toTuple } from '../list-page.ts'
import { readAccount } from './accounts.ts'
import { assertModel } from './catalog.ts'
import { readKeyRecord } from './key-record.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_DAYS = 366

/** The column of each dimension. Days are in UTC. */
const COLUMNS: Readonly<Record<Dimension, string>> = {
  day: `to_char(time at time zone 'UTC', 'YYYY-MM-DD')`,
  account: 'account_id::text',
  key: 'key_id::text',
  model: 'model',
}

/** Sorts before every row: each row has a nonempty day, account, key or model. */
const BEFORE_ALL = ['', '', '', '']

type UsageRow = {
  day: string
  account: string
  key: string
  model: string
  requests: string
  prompt: string
  cached: string
  completion: string
  cost: string
  charged: string
}

const summarizeUsage = implementRead(
  ADMIN.summarizeUsage,
  async (
    { query: { from, to, account, key, model, by = Dimension.options, limit, cursor } },
    { db, now },
  ) => {
    const [start, end] = toRange(from, to)
    await assertKept(db, start)
    if (account !== undefined) await readAccount(db, account)
    if (key !== undefined) await readKeyRecord(db, key, now)
    if (model !== undefined) await assertModel(db, model)
    // A dimension that is not in `by` has the same text in every row.
    const columnOf = (name: Dimension) => sql.raw(by.includes(name) ? COLUMNS[name] : `''`)
    const conditions: RawBuilder<SqlBool>[] = []
    if (account !== undefined) conditions.push(sql`account_id = ${account}`)
    if (key !== undefined) conditions.push(sql`key_id = ${key}`)
    if (model !== undefined) conditions.push(sql`model = ${model}`)
    const { rows } = await sql<UsageRow>`
    select * from (
      select ${columnOf('day')} as day, ${columnOf('account')} as account, ${columnOf('key')} as key,
        ${columnOf('model')} as model, sum(requests) as requests, sum(prompt_tokens) as prompt,
        sum(cached_tokens) as cached, sum(completion_tokens) as completion, sum(cost)::text as cost,
        sum(charged)::text as charged
      from (${selectUsage(await readSpan(db, { start, end }), conditions)}) s
      group by 1, 2, 3, 4
    ) u
    where (day, account, key, model) > (${sql.join(cursor === undefined ? BEFORE_ALL : toTuple(cursor, BEFORE_ALL.length))})
    order by day, account, key, model limit ${limit + 1}`.execute(db)
    return toPage(rows, limit, {
      item: toUsage,
      cursor: (row) => JSON.stringify([row.day, row.account, row.key, row.model]),
    })
  },
)

export const USAGE_OPERATIONS = { summarizeUsage }

type Span = {
  readonly start: Date
  readonly end: Date
  /** Usage from this time on is not summed up by hour. */
  readonly rolledUntil: Date
  /** A lower bound for the ids of all requests that were settled at `rolledUntil` or later. */
  readonly oldestId: string
}

export async function readSpan(
  db: Kysely<Tables>,
  { start, end }: Pick<Span, 'start' | 'end'>,
): Promise<Span> {
  const { rows } = await sql<{ until: Date }>`
    select greatest(until, ${start}) as until from usage_hours_end`.execute(db)
  const rolledUntil = rows[0]?.until ?? start
  return { start, end, rolledUntil, oldestId: await readOldestId(db, rolledUntil) }
}

/**
 * Selects two kinds of rows: the sums of the hours that are summed up already (`usage_hours`), and the requests that
 * were settled after these hours. `0013-usage-hours.sql` says why the two kinds together are complete.
 */
export function selectUsage({ start, end, rolledUntil, oldestId }: Span, conditions: RawBuilder<SqlBool>[]) {
  const sums = sql`hour >= ${start} and hour < least(${end}::timestamptz, ${rolledUntil}::timestamptz)`
  // Only the partitions from the oldest id on can contain these rows.
  const rest = sql`settled_at >= ${rolledUntil} and settled_at < ${end} and reservation_id >= ${oldestId}`
  return sql`
    select hour as time, account_id, key_id, model, requests, prompt_tokens, cached_tokens, completion_tokens, cost,
      charged
    from usage_hours where ${sql.join([sums, ...conditions], sql` and `)}
    union all
    select settled_at, account_id, key_id, model, 1, prompt_tokens, cached_tokens, completion_tokens, cost, charged
    from usage where ${sql.join([rest, ...conditions], sql` and `)}`
}

function toRange(from: string, to: string): [Date, Date] {
  const start = Date.parse(from)
  const end = Date.parse(to) + DAY_MS
  if (end <= start) throw new AdminError('invalid_request', "'to': expected a day not before from", 'to')
  if (end - start > MAX_DAYS * DAY_MS) {
    throw new AdminError('invalid_request', `'to': expected at most ${MAX_DAYS} days`, 'to')
  }
  return [new Date(start), new Date(end)]
}

function toUsage(row: UsageRow): Usage {
  return {
    day: row.day || null,
    accountId: row.account || null,
    keyId: row.key || null,
    model: row.model || null,
    requests: Number(row.requests),
    promptTokens: Number(row.prompt),
    cachedTokens: Number(row.cached),
    completionTokens: Number(row.completion),
    costNano: row.cost,
    chargedNano: row.charged,
    writtenOffNano: (BigInt(row.cost) - BigInt(row.charged)).toString(),
  }
}
