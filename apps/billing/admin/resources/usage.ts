import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { Dimension, type Usage } from '#libs/admin-contract/resources/usage.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementRead } from '../implement.ts'
import { assertKept } from '../../resources/kept-usage.ts'
import { readSpan, selectUsage } from '../../resources/select-usage.ts'
import { toPage, toTuple } from '../list-page.ts'
import { readAccount } from '../../resources/read-account.ts'
import { assertModel } from './catalog.ts'
import { readKeyRecord } from '../../resources/key-record.ts'

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
    const after = cursor === undefined ? BEFORE_ALL : toTuple(cursor, BEFORE_ALL.length)
    const rows: UsageRow[] = []
    for (const part of by.includes('day') ? toParts({ start, end }, after[0]) : [{ start, end }]) {
      const { rows: more } = await sql<UsageRow>`
        select * from (
          select ${columnOf('day')} as day, ${columnOf('account')} as account, ${columnOf('key')} as key,
            ${columnOf('model')} as model, sum(requests) as requests, sum(prompt_tokens) as prompt,
            sum(cached_tokens) as cached, sum(completion_tokens) as completion, sum(cost)::text as cost,
            sum(charged)::text as charged
          from (${selectUsage(await readSpan(db, part), conditions)}) s
          group by 1, 2, 3, 4
        ) u
        where (day, account, key, model) > (${sql.join(after)})
        order by day, account, key, model limit ${limit + 1 - rows.length}`.execute(db)
      rows.push(...more)
      if (rows.length > limit) break
    }
    return toPage(rows, limit, {
      item: toUsage,
      cursor: (row) => JSON.stringify([row.day, row.account, row.key, row.model]),
    })
  },
)

export const USAGE_OPERATIONS = { summarizeUsage }

type Range = { readonly start: Date; readonly end: Date }

/**
 * Divides days into parts, from the day on at which a page begins: one day, then twice as many days as in the part
 * before. A page is sorted by the day, so most pages need the first part only. Reading all days could take seconds.
 */
function* toParts({ start, end }: Range, firstDay: string | undefined): Generator<Range> {
  let from = Math.max(start.getTime(), Date.parse(firstDay ?? '') || 0)
  for (let days = 1; from < end.getTime(); days *= 2) {
    const until = Math.min(from + days * DAY_MS, end.getTime())
    yield { start: new Date(from), end: new Date(until) }
    from = until
  }
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
