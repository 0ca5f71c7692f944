import { sql, type Kysely } from 'kysely'
import type { KeyState } from '#proto/types/millrace/billing/KeyState.ts'
import type { KeyUsage } from '#proto/types/millrace/billing/KeyUsage.ts'
import { readSpan, selectUsage } from '../admin/resources/usage.ts'
import { selectKeys } from '../admin/resources/key-record.ts'
import type { Tables } from '../database/tables.ts'

const HOUR_MS = 60 * 60 * 1000

/** What the caller of a key may know of it; null for an unknown key. A revoked or expired one cannot ask. */
export async function readKey(db: Kysely<Tables>, keyId: string, now: Date): Promise<KeyState | null> {
  const key = await selectKeys(db, now).where('k.id', '=', keyId).executeTakeFirst()
  if (key === undefined) return null
  const [usage, funds] = [await readUsage(db, key, now), await readFunds(db, key.account_id)]
  const { spend_limit: limit, spend_period: period } = key
  const left = limit === null ? 0n : limit - (key.spent ?? 0n) - (key.held ?? 0n)
  return {
    label: `${key.prefix}…${key.last4}`,
    name: key.name ?? '',
    expiresAtMs: String(key.expires_at?.getTime() ?? 0),
    ...(key.models !== null && { models: { ids: key.models } }),
    requestsPerMinute: key.requests_per_minute ?? 0,
    tokensPerMinute: String(key.tokens_per_minute ?? 0n),
    ...(limit !== null &&
      period !== null && {
        // A limit may be set below the spent amount.
        limit: { amountNano: String(limit), leftNano: String(left > 0n ? left : 0n), period },
      }),
    usage,
    ...funds,
  }
}

async function readUsage(
  db: Kysely<Tables>,
  key: { readonly id: string; readonly created_at: Date },
  now: Date,
): Promise<KeyUsage> {
  const start = new Date(Math.floor(key.created_at.getTime() / HOUR_MS) * HOUR_MS)
  const span = await readSpan(db, { start, end: new Date(now.getTime() + 60_000) })
  const since = (period: string) =>
    sql`coalesce(sum(charged) filter (where time >= date_trunc(${period}, ${now}::timestamptz, 'UTC')), 0)::text`
  const { rows } = await sql<{ total: string; day: string; week: string; month: string }>`
    select coalesce(sum(charged), 0)::text as total, ${since('day')} as day, ${since('week')} as week,
      ${since('month')} as month
    from (${selectUsage(span, [sql`key_id = ${key.id}`])}) u`.execute(db)
  const { total = '0', day = '0', week = '0', month = '0' } = rows[0] ?? {}
  return { totalNano: total, dayNano: day, weekNano: week, monthNano: month }
}

/** In one statement: the sums belong to the balance. */
async function readFunds(db: Kysely<Tables>, accountId: string) {
  const { rows } = await sql<{ posted: string; held: string; credited: string }>`
    select a.posted::text, a.held::text, (
      coalesce((select sum(amount) from topups where account_id = a.id), 0)
      + coalesce((select sum(amount) from adjustments where account_id = a.id), 0)
    )::text as credited
    from accounts a where a.id = ${accountId}`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('a key has no account')
  return { postedNano: row.posted, heldNano: row.held, creditedNano: row.credited }
}
