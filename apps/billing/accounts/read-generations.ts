import { sql, type Kysely } from 'kysely'
import type { Generation } from '#proto/types/millrace/billing/Generation.ts'
import type { ListGenerationsResponse } from '#proto/types/millrace/billing/ListGenerationsResponse.ts'
import type { ReadGenerationResponse } from '#proto/types/millrace/billing/ReadGenerationResponse.ts'
import { readArchiveEnd } from '../books/archive-end.ts'
import type { Tables } from '../database/tables.ts'
import { isOf, type Scope } from './scope.ts'

/** One request of the key or the account. That of another one is answered as one that never was. */
export async function readGeneration(
  db: Kysely<Tables>,
  scope: Scope,
  id: string,
): Promise<ReadGenerationResponse> {
  const [generation] = await readGenerations(db, scope, [id])
  if (generation !== undefined) return { generation }
  const { rows } = await sql<{ month: string; isArchived: boolean }>`
    select to_char(made_at(${id}) at time zone 'UTC', 'YYYY-MM') as month, ${id} < archived_before() as "isArchived"`.execute(
    db,
  )
  const [made] = rows
  if (made?.isArchived !== true || (await readArchiveEnd(db)) === null) return {}
  return { archivedMonth: made.month }
}

/** As many as run at once are on the first page, beside the settled ones. */
const MAX_RUNNING = 50

/** The cursor is the time of settling in microseconds, and the id. */
const CURSOR = /^(\d{1,17})-([0-9a-f-]{36})$/

/** Throws a RangeError for a cursor that is none. */
export async function listGenerations(
  db: Kysely<Tables>,
  scope: Scope,
  { limit, cursor }: { limit: number; cursor: string },
): Promise<ListGenerationsResponse> {
  const [, settledUs, id] = CURSOR.exec(cursor) ?? []
  if (cursor !== '' && (settledUs === undefined || id === undefined)) throw new RangeError('cursor')
  const running = cursor === '' ? await findRunning(db, scope) : []
  const before =
    settledUs === undefined || id === undefined
      ? sql`true`
      : sql`(settled_at, reservation_id) < (timestamptz 'epoch' + ${settledUs}::bigint * interval '1 microsecond', ${id}::uuid)`
  const { rows } = await sql<{ id: string; us: string }>`
    select reservation_id as id, (extract(epoch from settled_at) * 1000000)::bigint::text as us
    from usage where ${isOf(scope)} and ${before}
    order by settled_at desc, reservation_id desc limit ${limit + 1}`.execute(db)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const ids = [...running, ...page.map((row) => row.id)]
  return {
    generations: await readGenerations(db, scope, [...new Set(ids)]),
    nextCursor: rows.length > limit && last !== undefined ? `${last.us}-${last.id}` : '',
  }
}

async function findRunning(db: Kysely<Tables>, scope: Scope): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from reservations
    where state = 'held' and account_id = ${accountOf(scope)} and ${isOf(scope)}
    order by id desc limit ${MAX_RUNNING}`.execute(db)
  return rows.map(({ id }) => id)
}

/** The index of held reservations is by account. */
const accountOf = ({ column, id }: Scope) =>
  column === 'account_id' ? sql`${id}` : sql`(select account_id from api_keys where id = ${id})`

type GenerationRow = {
  id: string
  state: string | null
  model: string
  made_at: Date
  amount: bigint | null
  clamped: boolean | null
  input_price: bigint
  cached_input_price: bigint
  output_price: bigint
  outcome: string | null
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  charged: bigint
  settled_at: Date | null
  has_timing: boolean
  waited_ms: number | null
  ahead: number | null
  first_token_ms: number | null
  ran_ms: number | null
  finish_reason: string | null
  error_code: string | null
  reasoning_tokens: number | null
  streamed: boolean | null
}

/** Those of the key or the account, in the order of the ids. A tombstone has neither, so no caller sees it. */
async function readGenerations(
  db: Kysely<Tables>,
  { column, id }: Scope,
  ids: readonly string[],
): Promise<Generation[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<GenerationRow>`
    select i.id, r.state, coalesce(r.model, u.model) as model, made_at(i.id) as made_at, r.amount, r.clamped,
      p.input_price, p.cached_input_price, p.output_price,
      u.outcome, u.prompt_tokens, u.cached_tokens, u.completion_tokens, u.charged, u.settled_at,
      t.reservation_id is not null as has_timing, t.waited_ms, t.ahead, t.first_token_ms, t.ran_ms, t.finish_reason,
      t.error_code, t.reasoning_tokens, t.streamed
    from unnest(${ids}::uuid[]) with ordinality as i (id, n)
    left join reservations r on r.id = i.id
    left join usage u on u.reservation_id = i.id
    left join request_timings t on t.reservation_id = i.id
    join price_versions p on p.id = coalesce(r.price_version, u.price_version)
    where coalesce(${sql.ref(`r.${column}`)}, ${sql.ref(`u.${column}`)}) = ${id}
    order by i.n`.execute(db)
  return rows.map(toGeneration)
}

function toGeneration(row: GenerationRow): Generation {
  const { outcome, settled_at: settledAt } = row
  return {
    id: row.id,
    state: row.state ?? 'settled',
    model: row.model,
    createdAtMs: String(row.made_at.getTime()),
    holdNano: String(row.amount ?? 0n),
    clamped: row.clamped ?? false,
    inputPriceNano: String(row.input_price),
    cachedInputPriceNano: String(row.cached_input_price),
    outputPriceNano: String(row.output_price),
    ...(outcome !== null &&
      settledAt !== null && {
        settled: {
          outcome,
          promptTokens: row.prompt_tokens,
          cachedTokens: row.cached_tokens,
          completionTokens: row.completion_tokens,
          chargedNano: String(row.charged),
          settledAtMs: String(settledAt.getTime()),
        },
      }),
    ...(row.has_timing && {
      timing: {
        ...(row.waited_ms !== null && { waitedMs: row.waited_ms }),
        ...(row.ahead !== null && { ahead: row.ahead }),
        ...(row.first_token_ms !== null && { firstTokenMs: row.first_token_ms }),
        ...(row.ran_ms !== null && { ranMs: row.ran_ms }),
        finishReason: row.finish_reason ?? '',
        errorCode: row.error_code ?? '',
        ...(row.reasoning_tokens !== null && { reasoningTokens: row.reasoning_tokens }),
        ...(row.streamed !== null && { streamed: row.streamed }),
      },
    }),
  }
}
