import { sql, type Kysely, type RawBuilder, type Selectable, type SqlBool } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import {
  MAX_REQUEST_DAYS,
  type RequestTiming,
  type SettledRequest,
  type Settlement,
} from '#libs/admin-contract/resources/requests.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { readArchiveEnd } from '../../books/archive-end.ts'
import { implementRead } from '../implement.ts'
import { assertKept, readOldestId } from '../../resources/kept-usage.ts'
import { toCursor, toMoment } from '../list-page.ts'
import { readAccount } from '../../resources/read-account.ts'
import { assertModel } from './catalog.ts'
import { readKeyRecord } from '../../resources/key-record.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** The most rows that one answer examines for a filter without an index. Examining so many takes about 50 ms. */
const MAX_LOOKED = 20_000

type Usage = Selectable<Tables['usage']>
type Timing = Omit<Selectable<Tables['request_timings']>, 'reservation_id'>

type Nulls<Row> = { [Column in keyof Row]: null }

/** A row of a page, with the number of examined rows. The row's columns are null if no examined row matches. */
type LookedRow = (Usage | Nulls<Usage>) &
  (Timing | Nulls<Timing>) & {
    readonly at: string | null
    readonly looked: bigint
    readonly last_at: string | null
    readonly last_id: string | null
  }

type Condition = RawBuilder<SqlBool>

export const listRequests = implementRead(
  ADMIN.listRequests,
  async ({ query: { from, to, account, key, model, outcome, minMs, limit, cursor } }, { db, now }) => {
    const days = account === undefined && key === undefined ? MAX_REQUEST_DAYS.all : MAX_REQUEST_DAYS.one
    const start = await toStart(db, { from, to, days, now })
    if (account !== undefined) await readAccount(db, account)
    if (key !== undefined) await readKeyRecord(db, key, now)
    if (model !== undefined) await assertModel(db, model)
    // An index returns the rows of these conditions in the order of the list; `filters` are checked row by row.
    const indexed: Condition[] = [
      sql`settled_at >= ${start}`,
      // Only the partitions from this id on can contain the rows.
      sql`reservation_id >= ${await readOldestId(db, start)}`,
    ]
    // If `to` is absent, rows with a later time than `now` are included: another replica's clock may be ahead.
    if (to !== undefined) indexed.push(sql`settled_at < ${to}`)
    const filters: Condition[] = []
    if (key !== undefined) indexed.push(sql`key_id = ${key}`)
    if (account !== undefined) (key === undefined ? indexed : filters).push(sql`account_id = ${account}`)
    if (outcome !== undefined) {
      const hasIndex = outcome !== 'completed' && key === undefined && account === undefined
      if (hasIndex) indexed.push(sql`outcome <> 'completed'`)
      filters.push(sql`outcome = ${outcome}`)
    }
    if (model !== undefined) filters.push(sql`model = ${model}`)
    if (minMs !== undefined) filters.push(sql`${DURATION} >= ${minMs}`)
    if (cursor !== undefined) {
      const { at, id } = toMoment(cursor)
      // The condition on `settled_at` alone lets PostgreSQL use indexes without the id.
      indexed.push(sql`settled_at <= ${at} and (settled_at, reservation_id) < (${at}, ${id})`)
    }
    const most = filters.length === 0 ? limit + 1 : Math.max(MAX_LOOKED, limit + 1)
    const rows = await look(db, { indexed, filters, most, limit: limit + 1 })
    return toRequestPage(rows, { limit, most, start })
  },
)

/**
 * The duration of the request in a row of the subquery `looked`; null if the request has no timing. The duration is a
 * subquery too, so that timings are read for the rows of `looked` only.
 */
const DURATION = sql`(
  select coalesce(t.waited_ms, 0)::bigint + coalesce(t.first_token_ms, 0) + coalesce(t.ran_ms, 0)
  from request_timings t where t.reservation_id = looked.reservation_id)`

/** Returns the next `limit` matches among the next `most` rows. */
async function look(
  db: Kysely<Tables>,
  {
    indexed,
    filters,
    most,
    limit,
  }: { indexed: Condition[]; filters: Condition[]; most: number; limit: number },
): Promise<LookedRow[]> {
  const toText = (column: string) =>
    sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
  const matches = filters.length === 0 ? sql`true` : sql.join(filters, sql` and `)
  const { rows } = await sql<LookedRow>`
    with looked as materialized (
      select * from usage where ${sql.join(indexed, sql` and `)}
      order by settled_at desc, reservation_id desc limit ${most}
    ), page as (
      select * from looked where ${matches} order by settled_at desc, reservation_id desc limit ${limit}
    ), bound as (
      select settled_at, reservation_id from looked order by settled_at, reservation_id limit 1
    )
    select p.*, t.waited_ms, t.ahead, t.first_token_ms, t.ran_ms, t.finish_reason, t.error_code, t.reasoning_tokens,
      t.streamed, t.written_at, ${toText('p.settled_at')} as at, c.looked, ${toText('b.settled_at')} as last_at,
      b.reservation_id as last_id
    from (select count(*) as looked from looked) c left join bound b on true left join page p on true
      left join lateral (
        select * from request_timings r where r.reservation_id = p.reservation_id limit 1
      ) t on true
    order by p.settled_at desc, p.reservation_id desc`.execute(db)
  return rows
}

function toRequestPage(
  rows: readonly LookedRow[],
  { limit, most, start }: { limit: number; most: number; start: Date },
) {
  const matches = rows.flatMap((row) => (row.reservation_id === null ? [] : [row]))
  const shown = matches.slice(0, limit)
  const [first, last] = [rows[0], shown.at(-1)]
  const isCut = first !== undefined && first.looked >= BigInt(most)
  let next: { at: string | null; id: string | null } | null = null
  if (matches.length > limit && last !== undefined) next = { at: last.at, id: last.reservation_id }
  else if (isCut) next = { at: first.last_at, id: first.last_id }
  return {
    data: shown.map(toRequest),
    nextCursor: next === null ? null : toCursor(JSON.stringify([next.at, next.id])),
    searchedTo: new Date(next?.at ?? start).toISOString(),
  }
}

/**
 * Returns the time at which the list begins: only requests that were settled at this time or later are listed. This is
 * `from`, if `from` is given. Otherwise it is `days` days before the end of the list (`to` or now), or the end of the
 * archived months if that is later. Throws an AdminError if `from` is not before `to`, if `from` is more than `days`
 * days before the end of the list, or if `from` or the whole range is in the archived months.
 */
async function toStart(
  db: Kysely<Tables>,
  { from, to, days, now }: { from: Date | undefined; to: Date | undefined; days: number; now: Date },
): Promise<Date> {
  const earliest = new Date((to ?? now).getTime() - days * DAY_MS)
  if (from === undefined) {
    if (to !== undefined) await assertKept(db, new Date(to.getTime() - 1))
    const { endedAt = earliest } = (await readArchiveEnd(db)) ?? {}
    return endedAt > earliest ? endedAt : earliest
  }
  if (to !== undefined && from >= to) {
    throw new AdminError('invalid_request', "'to': expected a time after from", 'to')
  }
  if (from < earliest) {
    throw new AdminError('invalid_request', `'from': expected at most ${days} days`, 'from')
  }
  await assertKept(db, from)
  return from
}

function toRequest(row: Usage & (Timing | Nulls<Timing>)): SettledRequest {
  return {
    id: row.reservation_id,
    accountId: row.account_id,
    keyId: row.key_id,
    model: row.model,
    ...toSettlement(row),
    timing: row.written_at === null ? null : toTiming(row),
  }
}

export function toTiming(row: Timing): RequestTiming {
  return {
    waitedMs: row.waited_ms,
    ahead: row.ahead,
    firstTokenMs: row.first_token_ms,
    ranMs: row.ran_ms,
    finishReason: row.finish_reason,
    errorCode: row.error_code,
    reasoningTokens: row.reasoning_tokens,
    streamed: row.streamed,
  }
}

export function toSettlement(row: Usage): Settlement {
  return {
    outcome: row.outcome,
    promptTokens: row.prompt_tokens,
    cachedTokens: row.cached_tokens,
    completionTokens: row.completion_tokens,
    costNano: row.cost,
    chargedNano: row.charged.toString(),
    writtenOffNano: (BigInt(row.cost) - row.charged).toString(),
    late: row.late,
    worker: row.settled_by,
    epoch: row.epoch,
    settledAt: row.settled_at.toISOString(),
  }
}
