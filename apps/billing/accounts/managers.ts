import { sql, type Kysely } from 'kysely'
import type { BillingKey } from '#libs/billing-client/billing-calls.ts'
import type { Tables } from '../database/tables.ts'

/** A management key that may be used now. */
export type Manager = {
  readonly id: string
  readonly accountId: string
  readonly label: string
  readonly name: string
  readonly expiresAt: Date | null
}

/** A management key is unknown, revoked or expired, or its account is closed. */
export class NotAManager extends Error {
  constructor() {
    super('the management key is not valid')
    this.name = 'NotAManager'
  }
}

const MINUTE_MS = 60_000

/** The management key with this hash, or null when it may not be used. Notes once a minute that it was. */
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
  }
  return {
    keyId: key.id,
    accountId: key.account_id,
    sha256: key.sha256,
    active: true,
    expiresAtMs: key.expires_at?.getTime() ?? null,
    models: null,
    // It can never spend.
    shortage: null,
  }
}

/** Throws NotAManager. */
export async function readManager(db: Kysely<Tables>, id: string, now: Date): Promise<Manager> {
  const key = await selectUsable(db, now).where('m.id', '=', id).executeTakeFirst()
  if (key === undefined) throw new NotAManager()
  return {
    id: key.id,
    accountId: key.account_id,
    label: `${key.prefix}…${key.last4}`,
    name: key.name,
    expiresAt: key.expires_at,
  }
}

/**
 * Likewise, in a transaction that changes keys: the changes of an account wait for each other, and for a revocation of
 * one of its management keys. The account's row is not locked, because money waits for that one.
 */
export async function lockManager(db: Kysely<Tables>, id: string, now: Date): Promise<Manager> {
  await sql`
    select from management_keys
    where account_id = (select account_id from management_keys where id = ${id}) and revoked_at is null
    order by id for no key update`.execute(db)
  // In a statement of its own, which sees what was committed while the first one waited.
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
