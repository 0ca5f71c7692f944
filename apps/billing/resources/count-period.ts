import { sql, type Kysely } from 'kysely'
import type { KeyLimits } from '#libs/admin-contract/resources/keys.ts'
import { readUsage, type Usage } from './read-usage.ts'
import type { SpendPeriod, Tables } from '../database/tables.ts'

const USAGE_OF: Readonly<Record<SpendPeriod, keyof Usage>> = {
  day: 'usage_daily',
  week: 'usage_weekly',
  month: 'usage_monthly',
  total: 'usage',
}

/**
 * Locks the account of a key, so that none of the account's holds ends or begins until the end of the transaction. The
 * account is locked before the key, as in the functions that move money.
 */
export async function lockAccountOf(db: Kysely<Tables>, keyId: string): Promise<void> {
  await sql`
    select from accounts where id = (select account_id from api_keys where id = ${keyId}) for no key update`.execute(
    db,
  )
}

/**
 * Must be called after a key's spend limit or the kind of its period (such as `day` or `total`) was changed. Makes the
 * limit count the credits that the key has already spent in its present period. `before` is the key before the change.
 * The account must be locked.
 */
export async function countPeriod(
  { db, now }: { db: Kysely<Tables>; now: Date },
  before: { id: string; created_at: Date; spend_period: SpendPeriod | null },
  { spendLimit }: KeyLimits,
): Promise<void> {
  if (spendLimit == null || spendLimit.period === before.spend_period) return
  const usageOf = await readUsage(db, { column: 'key_id', ids: [before.id], since: before.created_at }, now)
  const charged = usageOf(before.id)[USAGE_OF[spendLimit.period]]
  await sql`select count_period(key => ${before.id}, charged => ${charged}::numeric, at => ${now})`.execute(
    db,
  )
}
