import { sql } from 'kysely'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import type { Key } from '#libs/admin-contract/resources/keys.ts'
import { AdminError } from '../resources/admin-error.ts'
import type { Changed } from '../resources/write-audit.ts'
import { readKeyRecord, selectKeys, toKeyRecord } from '../resources/key-record.ts'
import { rotateKeyOf, setKeyStatus } from '../resources/key-states.ts'
import { changeKeyTo, createKeyOf, toDetails } from '../resources/change-keys.ts'
import { writeAudit } from '../resources/write-audit.ts'
import { forManager, type Managing } from './implement.ts'
import { describeKey, describeKeys } from './key-fields.ts'
import { toLimits } from './key-limits.ts'
import { makeOnce } from './make-once.ts'
import { isBefore } from './scope.ts'

/**
 * Each operation that changes a key does the same as the operators' operation of the same name, but only for keys of
 * the caller's account. A change and its audit entry are one transaction. The actor in the audit entry is the
 * management key.
 */

const listKeys = forManager(ACCOUNT.listKeys, async ({ query: { limit, cursor } }, { db, now, manager }) => {
  const rows = await selectKeys(db, now)
    .select(sql<string>`(extract(epoch from k.created_at) * 1000000)::bigint::text`.as('created_us'))
    .where('k.account_id', '=', manager.accountId)
    .where(isBefore(cursor, { time: 'k.created_at', id: 'k.id' }))
    .orderBy('k.created_at', 'desc')
    .orderBy('k.id', 'desc')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const keys = page.map((row) => toKeyRecord(row, now))
  return {
    data: await describeKeys(db, keys, now),
    next_cursor: rows.length > limit && last !== undefined ? `${last.created_us}-${last.id}` : null,
  }
})

const readAccountKey = forManager(ACCOUNT.readAccountKey, async ({ params }, context) => ({
  data: await describeKey(context.db, await readOwn(context, params.id), context.now),
}))

const createKey = forManager(ACCOUNT.createKey, async ({ headers, body }, context) => {
  // A new key has no limits to remove, so null means the same as absent.
  const { limit, limit_reset: reset, ...others } = body
  const limits = toLimits({ ...others, limit: limit ?? undefined, limit_reset: reset ?? undefined }, null)
  return await makeOnce(context, {
    idempotencyKey: headers['idempotency-key'],
    act: [toDetails(limits)],
    make: async () =>
      await audited(context, 'createKey', await createKeyOf(context, context.manager.accountId, limits)),
  })
})

const rotateKey = forManager(ACCOUNT.rotateKey, async ({ params: { id }, headers, body }, context) => {
  await readOwn(context, id)
  const overlapSeconds = body.overlap_seconds
  return await makeOnce(context, {
    idempotencyKey: headers['idempotency-key'],
    act: [id, overlapSeconds],
    make: async () => await audited(context, 'rotateKey', await rotateKeyOf(context, id, { overlapSeconds })),
  })
})

const changeKey = forManager(ACCOUNT.changeKey, async ({ params: { id }, body }, context) => {
  const { disabled, ...wanted } = body
  let key = await readOwn(context, id)
  const limits = toLimits(wanted, key)
  if (Object.keys(limits).length > 0) {
    key = await audited(context, 'changeKey', await changeKeyTo(context, id, limits))
  }
  if (disabled !== undefined) {
    const status = disabled ? 'disabled' : 'active'
    const action = disabled ? 'disableKey' : 'enableKey'
    key = await audited(context, action, await setKeyStatus(context, { id, status }))
  }
  return { data: await describeKey(context.db, key, context.now) }
})

const revokeKey = forManager(ACCOUNT.revokeKey, async ({ params: { id } }, context) => {
  await readOwn(context, id)
  const key = await audited(context, 'revokeKey', await setKeyStatus(context, { id, status: 'revoked' }))
  return { data: await describeKey(context.db, key, context.now), deleted: true as const }
})

export const KEY_OPERATIONS = { listKeys, readAccountKey, createKey, rotateKey, changeKey, revokeKey }

/** Returns a key of the account. Throws the same AdminError for an unknown key and for a key of another account. */
async function readOwn({ db, now, manager }: Managing, id: string): Promise<Key> {
  const own = await db
    .selectFrom('api_keys')
    .select('id')
    .where('id', '=', id)
    .where('account_id', '=', manager.accountId)
    .executeTakeFirst()
  if (own === undefined) throw new AdminError('not_found', `There is no key ${id}.`)
  return await readKeyRecord(db, id, now)
}

/** Writes the audit entry of a change by the account, and returns the change's answer. */
async function audited<Answer>(
  { db, now, manager }: Managing,
  action: string,
  { answer, audit }: Changed<Answer>,
): Promise<Answer> {
  if (audit !== null) {
    const actor = { name: manager.id, role: 'account' } as const
    const details = { account: manager.accountId, ...audit.details }
    await writeAudit({ db, actor, now }, action, { ...audit, details })
  }
  return answer
}
