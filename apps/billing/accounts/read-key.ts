import { sql, type Kysely } from 'kysely'
import type { KeyState } from '#proto/types/millrace/billing/KeyState.ts'
import { selectKeys } from '../admin/resources/key-record.ts'
import type { Tables } from '../database/tables.ts'
import type { Manager } from './managers.ts'
import { readUsage } from './read-usage.ts'

/** What the caller of a key may know of it; null for an unknown key. A revoked or expired one cannot ask. */
export async function readKey(db: Kysely<Tables>, keyId: string, now: Date): Promise<KeyState | null> {
  const key = await selectKeys(db, now).where('k.id', '=', keyId).executeTakeFirst()
  if (key === undefined) return null
  const usageOf = await readUsage(db, { column: 'key_id', ids: [keyId], since: key.created_at }, now)
  const funds = await readFunds(db, key.account_id)
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
    usage: usageOf(key.id),
    ...funds,
  }
}

/** What the caller of a management key may know of it and its account: the usage is that of the account. */
export async function readManagementKey(
  db: Kysely<Tables>,
  { label, name, expiresAt, accountId }: Manager,
  now: Date,
): Promise<KeyState> {
  const { created_at: since } = await db
    .selectFrom('accounts')
    .select('created_at')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  const usageOf = await readUsage(db, { column: 'account_id', ids: [accountId], since }, now)
  return {
    label,
    name,
    expiresAtMs: String(expiresAt?.getTime() ?? 0),
    usage: usageOf(accountId),
    ...(await readFunds(db, accountId)),
  }
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
