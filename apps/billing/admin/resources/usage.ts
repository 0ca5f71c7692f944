import { sql, type SqlBool } from 'kysely'
import { z } from 'zod'
import { AdminError } from '../admin-error.ts'
import { Day, Id, ModelId, Nano } from '../fields.ts'
import { NOTHING, defineRead } from '../operation.ts'
import { Limit, TupleCursor, pageOf, toPage } from '../page.ts'
import { readAccount } from './accounts.ts'
import { assertModel } from './catalog.ts'
import { readKeyRecord } from './key-record.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_DAYS = 366

const Dimension = z.enum(['day', 'account', 'key', 'model'])
type Dimension = z.infer<typeof Dimension>

/** What each dimension is in the table. Days are those of UTC. */
const COLUMNS: Readonly<Record<Dimension, string>> = {
  day: `to_char(settled_at at time zone 'UTC', 'YYYY-MM-DD')`,
  account: 'account_id::text',
  key: 'key_id::text',
  model: 'model',
}

const By = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(Dimension).min(1))
  .meta({ description: 'Of day, account, key and model, separated by commas; all of them unless told.' })

const Usage = z
  .object({
    day: z.string().nullable(),
    accountId: z.string().nullable(),
    keyId: z.string().nullable(),
    model: z.string().nullable(),
    requests: z.int(),
    promptTokens: z.int(),
    cachedTokens: z.int(),
    completionTokens: z.int(),
    costNano: Nano,
    chargedNano: Nano,
    writtenOffNano: Nano,
  })
  .meta({ id: 'Usage', description: 'What requests came to; null where rows are not told apart by it.' })

type UsageRow = {
  day: string
  account: string
  key: string
  model: string
  requests: bigint
  prompt: bigint
  cached: bigint
  completion: bigint
  cost: string
  charged: string
}

const summarizeUsage = defineRead({
  id: 'summarizeUsage',
  method: 'GET',
  url: '/usage',
  summary: 'Sums up what was settled on the days from `from` to `to`, both inclusive.',
  path: NOTHING,
  query: z.strictObject({
    from: Day,
    to: Day,
    account: Id.optional(),
    key: Id.optional(),
    model: ModelId.optional(),
    by: By.optional(),
    limit: Limit,
    cursor: TupleCursor.optional(),
  }),
  body: NOTHING,
  answer: pageOf('UsagePage', Usage),
  errors: ['not_found'],
  async run(
    { query: { from, to, account, key, model, by = Dimension.options, limit, cursor } },
    { db, now },
  ) {
    const [start, end] = toRange(from, to)
    if (account !== undefined) await readAccount(db, account)
    if (key !== undefined) await readKeyRecord(db, key, now)
    if (model !== undefined) await assertModel(db, model)
    // What is not asked for is one and the same text in every row.
    const columnOf = (name: Dimension) => sql.raw(by.includes(name) ? COLUMNS[name] : `''`)
    const conditions = [sql<SqlBool>`settled_at >= ${start} and settled_at < ${end}`]
    if (account !== undefined) conditions.push(sql`account_id = ${account}`)
    if (key !== undefined) conditions.push(sql`key_id = ${key}`)
    if (model !== undefined) conditions.push(sql`model = ${model}`)
    const { rows } = await sql<UsageRow>`
      select * from (
        select ${columnOf('day')} as day, ${columnOf('account')} as account, ${columnOf('key')} as key,
          ${columnOf('model')} as model, count(*) as requests, sum(prompt_tokens) as prompt,
          sum(cached_tokens) as cached, sum(completion_tokens) as completion, sum(cost)::text as cost,
          sum(charged)::text as charged
        from usage where ${sql.join(conditions, sql` and `)}
        group by 1, 2, 3, 4
      ) u
      where (day, account, key, model) > (${sql.join(toPlace(cursor))})
      order by day, account, key, model limit ${limit + 1}`.execute(db)
    return toPage(rows, limit, {
      item: toUsage,
      cursor: (row) => JSON.stringify([row.day, row.account, row.key, row.model]),
    })
  },
})

export const USAGE_OPERATIONS = [summarizeUsage] as const

function toRange(from: string, to: string): [Date, Date] {
  const start = Date.parse(from)
  const end = Date.parse(to) + DAY_MS
  if (end <= start) throw new AdminError('invalid_request', "'to': expected a day not before from", 'to')
  if (end - start > MAX_DAYS * DAY_MS) {
    throw new AdminError('invalid_request', `'to': expected at most ${MAX_DAYS} days`, 'to')
  }
  return [new Date(start), new Date(end)]
}

/** No row is as small as four empty texts: its model, day, account or key has letters. */
function toPlace(cursor: readonly string[] | undefined): readonly string[] {
  if (cursor === undefined) return ['', '', '', '']
  if (cursor.length === 4) return cursor
  throw new AdminError('invalid_request', "'cursor': expected a cursor of an earlier answer", 'cursor')
}

function toUsage(row: UsageRow): z.input<typeof Usage> {
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
