import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { NewKey } from '#libs/account-contract/resources/keys.ts'
import { AdminError } from '../resources/admin-error.ts'
import { readKeyRecord } from '../resources/key-record.ts'
import type { NewKey as MadeKey } from '../resources/change-keys.ts'
import type { Managing } from './implement.ts'
import { describeKey } from './key-fields.ts'

/**
 * An account is allowed at most `MAX_KEYS` usable keys, and at most `MAX_NEW_KEYS` keys that were made within the last
 * 24 hours. Among the latter, revoked keys count too.
 */
const MAX_KEYS = 1_000
const MAX_NEW_KEYS = 1_000

const DAY_MS = 24 * 60 * 60 * 1000
const REMEMBERED_MS = 30 * DAY_MS

/**
 * Makes a key, or returns the key that an earlier request with the same idempotency key made. `act` lists everything
 * that the request asks for. Throws an AdminError if the idempotency key was used for another act, or if the account
 * has too many keys.
 */
export async function makeOnce(
  context: Managing,
  {
    idempotencyKey,
    act,
    make,
  }: { idempotencyKey: string | undefined; act: readonly unknown[]; make: () => Promise<MadeKey> },
): Promise<NewKey> {
  const { db, now, manager } = context
  const sha256 = createHash('sha256').update(JSON.stringify(act)).digest()
  const earlier = idempotencyKey === undefined ? undefined : await findEarlier(context, idempotencyKey)
  if (earlier !== undefined) {
    if (!earlier.sha256.equals(sha256)) {
      throw new AdminError('conflict', 'This idempotency-key was used for another request.')
    }
    const key = await readKeyRecord(db, earlier.key_id, now)
    return { data: await describeKey(db, key, now), key: null, replayed: true }
  }
  await assertRoom(context)
  const { secret, ...key } = await make()
  if (idempotencyKey !== undefined) {
    const made = { account_id: manager.accountId, key_id: key.id, created_at: now }
    await db
      .insertInto('key_requests')
      .values({ ...made, idempotency_key: idempotencyKey, sha256 })
      .execute()
  }
  return { data: await describeKey(db, key, now), key: secret, replayed: false }
}

/**
 * First deletes the account's rows of `key_requests` that are older than `REMEMBERED_MS`. Then returns the account's
 * row with this idempotency key.
 */
async function findEarlier({ db, now, manager }: Managing, idempotencyKey: string) {
  const ofAccount = db.deleteFrom('key_requests').where('account_id', '=', manager.accountId)
  await ofAccount.where('created_at', '<', new Date(now.getTime() - REMEMBERED_MS)).execute()
  return await db
    .selectFrom('key_requests')
    .select(['sha256', 'key_id'])
    .where('account_id', '=', manager.accountId)
    .where('idempotency_key', '=', idempotencyKey)
    .executeTakeFirst()
}

async function assertRoom({ db, now, manager }: Managing): Promise<void> {
  const { rows } = await sql<{ usable: number; made: number }>`
    select count(*) filter (where status <> 'revoked' and (expires_at is null or expires_at > ${now}))::integer as usable,
      count(*) filter (where created_at > ${new Date(now.getTime() - DAY_MS)})::integer as made
    from api_keys where account_id = ${manager.accountId}`.execute(db)
  const { usable = 0, made = 0 } = rows[0] ?? {}
  if (usable >= MAX_KEYS) {
    throw new AdminError('conflict', `The account has ${MAX_KEYS} keys already: revoke one first.`)
  }
  if (made >= MAX_NEW_KEYS) {
    throw new AdminError('conflict', `The account has made ${MAX_NEW_KEYS} keys within a day.`)
  }
}
