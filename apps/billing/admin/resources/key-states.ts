import type { Kysely, Selectable } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Key } from '#libs/admin-contract/resources/keys.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../admin-error.ts'
import { implementChange, type Changed } from '../implement.ts'
import { readAccount } from './accounts.ts'
import { readKeyRecord } from './key-record.ts'
import { insertKey, type KeyContext, type NewKey } from './keys.ts'

const rotateKey = implementChange(
  ADMIN.rotateKey,
  async ({ params, body }, context) => await rotateKeyOf(context, params.key, body),
)

/** Throws an AdminError for a key that is not active, or was rotated before. */
export async function rotateKeyOf(
  { db, now }: KeyContext,
  id: string,
  { overlapSeconds, reason }: { overlapSeconds: number; reason?: string | undefined },
): Promise<Changed<NewKey>> {
  const old = await lockKey(db, id)
  if (old.status !== 'active' || (old.expires_at !== null && old.expires_at <= now)) {
    throw new AdminError('conflict', 'Only an active key can be rotated.')
  }
  const earlier = await findSuccessor(db, old)
  if (earlier !== undefined) {
    throw new AdminError('conflict', `The key was rotated before: its successor is ${earlier.id}.`)
  }
  const account = await readAccount(db, old.account_id)
  if (account.status !== 'active') throw new AdminError('conflict', 'The account is closed.')
  const overlapEnd = new Date(now.getTime() + overlapSeconds * 1_000)
  const end = old.expires_at !== null && old.expires_at < overlapEnd ? old.expires_at : overlapEnd
  await db.updateTable('api_keys').set({ expires_at: end }).where('id', '=', old.id).execute()
  const successor = await insertKey(db, {
    account_id: old.account_id,
    name: old.name,
    expires_at: old.expires_at,
    models: old.models,
    spend_limit: old.spend_limit,
    spend_period: old.spend_period,
    requests_per_minute: old.requests_per_minute,
    tokens_per_minute: old.tokens_per_minute,
    created_at: now,
    rotated_from: old.id,
  })
  const key = await readKeyRecord(db, successor.id, now)
  const details = { successor: successor.id, overlapSeconds, oldExpiresAt: end.toISOString() }
  return { answer: { ...key, secret: successor.secret }, audit: { target: old.id, reason, details } }
}

const disableKey = implementChange(ADMIN.disableKey, ({ params, body }, context) =>
  setKeyStatus(context, { id: params.key, status: 'disabled', ...body }),
)

const enableKey = implementChange(ADMIN.enableKey, ({ params, body }, context) =>
  setKeyStatus(context, { id: params.key, status: 'active', ...body }),
)

const revokeKey = implementChange(ADMIN.revokeKey, ({ params, body }, context) =>
  setKeyStatus(context, { id: params.key, status: 'revoked', ...body }),
)

export const KEY_STATE_OPERATIONS = { rotateKey, disableKey, enableKey, revokeKey }

/** Throws an AdminError for an unknown key, and for another status than `revoked` of a revoked one. */
export async function setKeyStatus(
  { db, now }: KeyContext,
  {
    id,
    status,
    reason,
  }: { id: string; status: 'active' | 'disabled' | 'revoked'; reason?: string | undefined },
): Promise<Changed<Key>> {
  const before = await lockKey(db, id)
  if (before.status === status) return { answer: await readKeyRecord(db, id, now), audit: null }
  if (before.status === 'revoked')
    throw new AdminError('conflict', 'The key is revoked, and a revocation is permanent.')
  await db
    .updateTable('api_keys')
    .set({ status, revoked_at: status === 'revoked' ? now : null })
    .where('id', '=', id)
    .execute()
  return {
    answer: await readKeyRecord(db, id, now),
    audit: { target: id, reason, details: { before: before.status } },
  }
}

/** A rotated key expires with its overlap, so that a second successor would have the expiry of the overlap. */
async function findSuccessor(
  db: Kysely<Tables>,
  { id, account_id }: { id: string; account_id: string },
): Promise<{ id: string } | undefined> {
  return await db
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', account_id)
    .where('rotated_from', '=', id)
    .executeTakeFirst()
}

async function lockKey(db: Kysely<Tables>, id: string): Promise<Selectable<Tables['api_keys']>> {
  const key = await db.selectFrom('api_keys').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
  if (key === undefined) throw new AdminError('not_found', `There is no key ${id}.`)
  return key
}
