import { randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import { createManagementKey as createSecret, hashApiKey } from '#libs/api-key/api-key.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { PREFIX_LENGTH } from '#libs/admin-contract/resources/keys.ts'
import { MAX_MANAGEMENT_KEYS, type ManagementKey } from '#libs/admin-contract/resources/management-keys.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementChange, implementRead } from '../implement.ts'
import { isAfterCursor, toPage } from '../list-page.ts'
import { readAccount } from '../../resources/read-account.ts'
import { assertFuture } from '../../resources/change-keys.ts'

const createManagementKey = implementChange(
  ADMIN.createManagementKey,
  async ({ params, body: { name, expiresAt = null, reason } }, { db, now }) => {
    const account = await readAccount(db, params.account)
    if (account.status !== 'active') throw new AdminError('conflict', 'The account is closed.')
    assertFuture(expiresAt, now)
    // The lock keeps two concurrent requests from both taking the last free place.
    await db.selectFrom('accounts').select('id').where('id', '=', account.id).forNoKeyUpdate().execute()
    const usable = await db
      .selectFrom('management_keys')
      .select('id')
      .where('account_id', '=', account.id)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
      .execute()
    if (usable.length >= MAX_MANAGEMENT_KEYS) {
      throw new AdminError('conflict', `The account has ${MAX_MANAGEMENT_KEYS} management keys already.`)
    }
    const secret = createSecret()
    const created = {
      id: randomUUID(),
      account_id: account.id,
      name,
      sha256: hashApiKey(secret),
      prefix: secret.slice(0, PREFIX_LENGTH),
      last4: secret.slice(-4),
      created_at: now,
      expires_at: expiresAt,
      last_used_at: null,
      revoked_at: null,
    }
    await db.insertInto('management_keys').values(created).execute()
    const details = { account: account.id, name, ...(expiresAt !== null && { expiresAt }) }
    return {
      answer: { ...toManagementKey(created, now), secret },
      audit: { target: created.id, reason, details },
    }
  },
)

const listManagementKeys = implementRead(
  ADMIN.listManagementKeys,
  async ({ query: { account, limit, cursor } }, { db, now }) => {
    let keys = db
      .selectFrom('management_keys as k')
      .selectAll()
      .orderBy('k.created_at', 'desc')
      .orderBy('k.id', 'desc')
      .limit(limit + 1)
    if (account !== undefined) keys = keys.where('k.account_id', '=', (await readAccount(db, account)).id)
    if (cursor !== undefined) {
      keys = keys.where(await isAfterCursor(db, { table: 'management_keys', alias: 'k' }, cursor))
    }
    return toPage(await keys.execute(), limit, {
      item: (key) => toManagementKey(key, now),
      cursor: ({ id }) => id,
    })
  },
)

const revokeManagementKey = implementChange(
  ADMIN.revokeManagementKey,
  async ({ params, body }, { db, now }) => {
    const { numUpdatedRows } = await db
      .updateTable('management_keys')
      .set({ revoked_at: now })
      .where('id', '=', params.managementKey)
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow()
    const key = await db
      .selectFrom('management_keys')
      .selectAll()
      .where('id', '=', params.managementKey)
      .executeTakeFirst()
    if (key === undefined) {
      throw new AdminError('not_found', `There is no management key ${params.managementKey}.`)
    }
    const details = { account: key.account_id, name: key.name }
    return {
      answer: toManagementKey(key, now),
      audit: numUpdatedRows === 0n ? null : { target: key.id, reason: body.reason, details },
    }
  },
)

export const MANAGEMENT_KEY_OPERATIONS = { createManagementKey, listManagementKeys, revokeManagementKey }

function toManagementKey(row: Selectable<Tables['management_keys']>, now: Date): ManagementKey {
  const hasExpired = row.expires_at !== null && row.expires_at <= now
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    status: row.revoked_at !== null ? 'revoked' : hasExpired ? 'expired' : 'active',
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
  }
}
