import { sql, type Kysely } from 'kysely'
import type { BillingKey } from '#libs/billing-client/billing-calls.ts'
import { ACCOUNT_WEIGHT } from '#libs/contracts/account-weight.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { ignoreReadOnly } from '../database/database-errors.ts'
import type { Tables } from '../database/tables.ts'
import { toLabel } from './key-fields.ts'

/** A management key that is usable now. */
export type Manager = {
  readonly id: string
  readonly accountId: string
  readonly label: string
  readonly name: string
  readonly expiresAt: Date | null
}

const MINUTE_MS = 60_000

/**
 * Returns the usable management key with this hash, or null if there is none. Records at most once a minute that the
 * key was used, unless the database is read-only.
 */
export async function findManagementKey(
  db: Kysely<Tables>,
  sha256: Buffer,
  now: Date,
): Promise<BillingKey | null> {
  const key = await selectUsable(db, now).where('m.sha256', '=', sha256).executeTakeFirst()
  if (key === undefined) return null
  const minuteAgo = new Date(now.getTime() - MINUTE_MS)
  if (key.last_used_at === null || key.last_used_at <= minuteAgo) {
    await db
      .updateTable('management_keys')
      .set({ last_used_at: now })
      .where('id', '=', key.id)
      .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<=', minuteAgo)]))
      .execute()
      .catch(ignoreReadOnly)
  }
  return {
    keyId: key.id,
    accountId: key.account_id,
    // Management keys make no generations, so their weight has no effect.
    weight: ACCOUNT_WEIGHT.default,
    sha256: key.sha256,
    active: true,
    expiresAtMs: key.expires_at?.getTime() ?? null,
    models: null,
    // A management key cannot spend, so it is never short of credits.
    shortage: null,
  }
}

/** Returns a management key. Throws an ApiError if it is unknown, revoked or expired, or if its account is closed. */
export async function readManager(db: Kysely<Tables>, id: string, now: Date): Promise<Manager> {
  const key = await selectUsable(db, now).where('m.id', '=', id).executeTakeFirst()
  if (key === undefined) throw new ApiError('invalid_key', 'The management key is no longer valid.')
  return {
    id: key.id,
    accountId: key.account_id,
    label: toLabel(key),
    name: key.name,
    expiresAt: key.expires_at,
  }
}

/**
 * Reads the management key as `readManager` does, and locks the management keys of its account, so that changes of the
 * account's keys and revocations of its management keys run one after the other. It does not lock the account's row,
 * because reservations would wait for that lock.
 */
export async function lockManager(db: Kysely<Tables>, id: string, now: Date): Promise<Manager> {
  await sql`
    select from management_keys
    where account_id = (select account_id from management_keys where id = ${id}) and revoked_at is null
    order by id for no key update`.execute(db)
  // This is a separate statement, so that it sees the changes that were committed while the first statement waited.
  return await readManager(db, id, now)
}

function selectUsable(db: Kysely<Tables>, now: Date) {
  return db
    .selectFrom('management_keys as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .selectAll('m')
    .where('a.status', '=', 'active')
    .where('m.revoked_at', 'is', null)
    .where((eb) => eb.or([eb('m.expires_at', 'is', null), eb('m.expires_at', '>', now)]))
}
