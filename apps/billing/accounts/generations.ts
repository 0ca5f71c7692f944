import { sql, type Kysely } from 'kysely'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import { generationNotFound, type Receipt } from '#libs/account-contract/resources/generations.ts'
import { readArchiveEnd } from '../books/archive-end.ts'
import type { Tables } from '../database/tables.ts'
import { forAnyKey } from './implement.ts'
import { toCredits } from './key-fields.ts'
import { isBefore, isOf, type Scope } from './scope.ts'

/** A request of another key or account gets the same answer as a request that never existed. */
const readGeneration = forAnyKey(ACCOUNT.readGeneration, async ({ query: { id } }, { db, scope }) => {
  const [receipt] = await readReceipts(db, scope, [id])
  if (receipt !== undefined) return { data: receipt }
  const { rows } = await sql<{ month: string; isArchived: boolean }>`
    select to_char(made_at(${id}) at time zone 'UTC', 'YYYY-MM') as month, ${id} < archived_before() as "isArchived"`.execute(
    db,
  )
  const [made] = rows
  if (made?.isArchived !== true || (await readArchiveEnd(db)) === null) throw generationNotFound()
  throw generationNotFound(`Requests of ${made.month} are archived: ask the operator for this one.`)
})

/** The first page lists running requests before the settled ones. It has at most this many running requests. */
const MAX_RUNNING = 50

const listGenerations = forAnyKey(
  ACCOUNT.listGenerations,
  async ({ query: { limit, cursor } }, { db, scope }) => {
    const running = cursor === undefined ? await findRunning(db, scope) : []
    const { rows } = await sql<{ id: string; us: string }>`
    select reservation_id as id, (extract(epoch from settled_at) * 1000000)::bigint::text as us
    from usage where ${isOf(scope)} and ${isBefore(cursor, { time: 'settled_at', id: 'reservation_id' })}
    order by settled_at desc, reservation_id desc limit ${limit + 1}`.execute(db)
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const ids = [...running, ...page.map((row) => row.id)]
    return {
      data: await readReceipts(db, scope, [...new Set(ids)]),
      next_cursor: rows.length > limit && last !== undefined ? `${last.us}-${last.id}` : null,
    }
  },
)

export const GENERATION_OPERATIONS = { readGeneration, listGenerations }

async function findRunning(db: Kysely<Tables>, scope: Scope): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from reservations
    where state = 'held' and account_id = ${accountOf(scope)} and ${isOf(scope)}
    order by id desc limit ${MAX_RUNNING}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Held reservations have an index by account only, so the key's account is looked up. */
const accountOf = ({ column, id }: Scope) =>
  column === 'account_id' ? sql`${id}` : sql`(select account_id from api_keys where id = ${id})`

/** A request with its hold, its settlement and its timing. The columns of a missing part are null. */
type ReceiptRow = {
  id: string
  state: 'held' | 'settled' | 'released' | 'expired' | null
  model: string
  made_at: Date
  amount: bigint | null
  clamped: boolean | null
  input_price: bigint
  cached_input_price: bigint
  output_price: bigint
  outcome: NonNullable<Receipt['outcome']> | null
  prompt_tokens: number | null
  cached_tokens: number | null
  completion_tokens: number | null
  charged: bigint | null
  waited_ms: number | null
  ahead: number | null
  first_token_ms: number | null
  ran_ms: number | null
  finish_reason: string | null
  error_code: string | null
  reasoning_tokens: number | null
  streamed: boolean | null
}

/**
 * Returns the receipts of the requests `ids` that belong to the caller's key or account, in the order of `ids`.
 * *Receipt* has its public sense here: the data of a request that `GET /v1/generation` returns. If a gateway releases a
 * hold whose id billing does not know, billing writes a row with this id into `reservations` (a tombstone). This row
 * has no key and no account, so no caller sees it.
 */
async function readReceipts(
  db: Kysely<Tables>,
  { column, id }: Scope,
  ids: readonly string[],
): Promise<Receipt[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<ReceiptRow>`
    select i.id, r.state, coalesce(r.model, u.model) as model, made_at(i.id) as made_at, r.amount, r.clamped,
      p.input_price, p.cached_input_price, p.output_price,
      u.outcome, u.prompt_tokens, u.cached_tokens, u.completion_tokens, u.charged,
      t.waited_ms, t.ahead, t.first_token_ms, t.ran_ms, t.finish_reason, t.error_code, t.reasoning_tokens, t.streamed
    from unnest(${ids}::uuid[]) with ordinality as i (id, n)
    left join reservations r on r.id = i.id
    left join usage u on u.reservation_id = i.id
    left join request_timings t on t.reservation_id = i.id
    join price_versions p on p.id = coalesce(r.price_version, u.price_version)
    where coalesce(${sql.ref(`r.${column}`)}, ${sql.ref(`u.${column}`)}) = ${id}
    order by i.n`.execute(db)
  return rows.map(toReceipt)
}

function toReceipt(row: ReceiptRow): Receipt {
  const { waited_ms: waited, first_token_ms: first, outcome, charged } = row
  const state = row.state ?? 'settled'
  const credits = charged === null ? null : toCredits(charged)
  return {
    id: row.id,
    status: state === 'held' ? 'running' : state,
    outcome,
    model: row.model,
    created_at: row.made_at.toISOString(),
    streamed: row.streamed,
    cancelled: outcome === null ? null : outcome === 'cancelled',
    finish_reason: row.finish_reason,
    error_code: row.error_code,
    waited_ms: waited,
    ahead: row.ahead,
    latency: waited === null || first === null ? null : waited + first,
    generation_time: row.ran_ms,
    tokens_prompt: row.prompt_tokens,
    tokens_completion: row.completion_tokens,
    native_tokens_cached: row.cached_tokens,
    native_tokens_reasoning: row.reasoning_tokens,
    total_cost: credits,
    usage: credits,
    provider_name: 'millrace',
    hold: { nano: String(row.amount ?? 0n), clamped: row.clamped ?? false },
    prices: {
      input_nano: String(row.input_price),
      cached_input_nano: String(row.cached_input_price),
      output_nano: String(row.output_price),
    },
    nano: { total_cost: charged === null ? null : String(charged) },
  }
}
