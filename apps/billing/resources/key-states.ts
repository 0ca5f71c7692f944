import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import type { Key } from '#libs/admin-contract/resources/keys.ts'
import type { Tables } from '../database/tables.ts'
import { AdminError } from './admin-error.ts'
import type { Changed } from './write-audit.ts'
import { readAccount } from './read-account.ts'
import { lockKey, readKeyRecord } from './key-record.ts'
import { insertKey, type NewKey } from './change-keys.ts'
import {
  assertMayEnable,
  assertMayRotate,
  OperatorLimits,
  withOperatorChange,
  type KeyContext,
} from './operator-limits.ts'

/**
 * Rotates a key. Throws an AdminError if the key is unknown, if it is disabled, revoked or expired, if it was rotated
 * before, if its account is closed, or if only an operator may rotate it.
 */
export async function rotateKeyOf(
  { db, now, setBy }: KeyContext,
  id: string,
  { overlapSeconds, reason }: { overlapSeconds: number; reason?: string | undefined },
): Promise<Changed<NewKey>> {
  const old = await lockKey(db, id)
  if (old.status !== 'active' || (old.expires_at !== null && old.expires_at <= now)) {
    throw new AdminError('conflict', 'Only an active key can be rotated.')
  }
  const operatorLimits = OperatorLimits.parse(old.operator_limits)
  if (setBy === 'account') assertMayRotate(operatorLimits)
  const earlier = await findSuccessor(db, old)
  if (earlier !== undefined) {
    throw new AdminError('conflict', `The key was rotated before: its successor is ${earlier.id}.`)
  }
  const account = await readAccount(db, old.account_id)
  if (account.status !== 'active') throw new AdminError('conflict', 'The account is closed.')
  const overlapEnd = new Date(now.getTime() + overlapSeconds * 1_000)
  const end = old.expires_at !== null && old.expires_at < overlapEnd ? old.expires_at : overlapEnd
  const ended = setBy === 'account' ? operatorLimits : withOperatorChange(operatorLimits, { expiresAt: end })
  await db
    .updateTable('api_keys')
    .set({ expires_at: end, operator_limits: JSON.stringify(ended) })
    .where('id', '=', old.id)
    .execute()
  const successor = await insertKey(db, {
    account_id: old.account_id,
    name: old.name,
    expires_at: old.expires_at,
    models: old.models,
    spend_limit: old.spend_limit,
    spend_period: old.spend_period,
    requests_per_minute: old.requests_per_minute,
    tokens_per_minute: old.tokens_per_minute,
    operatorLimits,
    created_at: now,
    rotated_from: old.id,
  })
  const key = await readKeyRecord(db, successor.id, now)
  const details = { successor: successor.id, overlapSeconds, oldExpiresAt: end.toISOString() }
  return { answer: { ...key, secret: successor.secret }, audit: { target: old.id, reason, details } }
}

/**
 * Changes a key's status. When an operator revokes a key, the limits that operators had set on the key are removed,
 * also if the account had revoked the key before. Throws an AdminError if the key is unknown, if it is revoked and
 * another status is wanted, or if the account would enable a key that an operator has disabled.
 */
export async function setKeyStatus(
  { db, now, setBy }: KeyContext,
  {
    id,
    status,
    reason,
  }: { id: string; status: 'active' | 'disabled' | 'revoked'; reason?: string | undefined },
): Promise<Changed<Key>> {
  const before = await lockKey(db, id)
  const set = OperatorLimits.parse(before.operator_limits)
  const operatorLimits = setBy === 'account' ? set : toStateLimits(set, status)
  const isSame = before.status === status
  if (isSame && isDeepStrictEqual(set, operatorLimits)) {
    return { answer: await readKeyRecord(db, id, now), audit: null }
  }
  if (!isSame && before.status === 'revoked')
    throw new AdminError('conflict', 'The key is revoked, and a revocation is permanent.')
  if (setBy === 'account' && status === 'active') assertMayEnable(set)
  await db
    .updateTable('api_keys')
    .set({
      status,
      operator_limits: JSON.stringify(operatorLimits),
      ...(!isSame && { revoked_at: status === 'revoked' ? now : null }),
    })
    .where('id', '=', id)
    .execute()
  return {
    answer: await readKeyRecord(db, id, now),
    audit: { target: id, reason, details: { before: before.status } },
  }
}

function toStateLimits(set: OperatorLimits, status: 'active' | 'disabled' | 'revoked'): OperatorLimits {
  if (status === 'revoked') return {}
  const { disabled: _disabled, ...limits } = set
  return status === 'disabled' ? { ...limits, disabled: true } : limits
}

/**
 * Returns the successor of a rotated key. A key with a successor must not be rotated again: the key expires soon, at
 * the end of its overlap, and a second successor would inherit this expiry.
 */
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
