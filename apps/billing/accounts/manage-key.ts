import { createHash } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Key, KeyLimits } from '#libs/admin-contract/resources/keys.ts'
import type { KeyRefusal } from '#proto/types/millrace/billing/KeyRefusal.ts'
import type { KeySettings__Output } from '#proto/types/millrace/billing/KeySettings.ts'
import type { ManageKeyRequest__Output } from '#proto/types/millrace/billing/ManageKeyRequest.ts'
import type { ManageKeyResponse } from '#proto/types/millrace/billing/ManageKeyResponse.ts'
import { AdminError, toInvalidRequest } from '../admin/admin-error.ts'
import type { Changed } from '../admin/implement.ts'
import { readKeyRecord } from '../admin/resources/key-record.ts'
import { rotateKeyOf, setKeyStatus } from '../admin/resources/key-states.ts'
import { changeKeyTo, createKeyOf, type NewKey } from '../admin/resources/keys.ts'
import type { KeyContext } from '../admin/resources/operator-limits.ts'
import { writeAudit } from '../admin/write-audit.ts'
import { runTransaction } from '../database/run-transaction.ts'
import type { Tables } from '../database/tables.ts'
import { withUsage } from './account-keys.ts'
import { lockManager, readManager, type Manager } from './managers.ts'

/** Of one account; the second bound is of a day, revoked ones included. */
const MAX_KEYS = 1_000
const MAX_NEW_KEYS = 1_000

const DAY_MS = 24 * 60 * 60 * 1000
const REMEMBERED_MS = 30 * DAY_MS

const MAX_IDEMPOTENCY_KEY = 200

type Managing = KeyContext & { readonly manager: Manager }

type Managed = { readonly key: Key; readonly secret: string; readonly replayed: boolean }

/**
 * One act of a management key on one API key of its account, as an operator's act of the same name. A change and its entry
 * in the audit log, which has the management key as its actor, are one transaction. Throws NotAManager, and a RangeError
 * for a malformed request; everything else that is refused is an answer.
 */
export async function manageKey(
  db: Kysely<Tables>,
  request: ManageKeyRequest__Output,
  now: Date,
): Promise<ManageKeyResponse> {
  try {
    const { key, secret, replayed } = await act(db, request, now)
    return { key: await withUsage(db, key, now), secret, replayed }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return { refusal: toRefusal(error) }
  }
}

async function act(db: Kysely<Tables>, request: ManageKeyRequest__Output, now: Date): Promise<Managed> {
  const { managementKeyId, keyId } = request
  if (request.read) {
    const manager = await readManager(db, managementKeyId, now)
    return toManaged(await readOwn({ db, now, manager, setBy: 'account' }, keyId))
  }
  return await runTransaction(db, async (transaction) => {
    const manager = await lockManager(transaction, managementKeyId, now)
    const context = { db: transaction, now, manager, setBy: 'account' } as const
    if (request.create) {
      const limits = toLimits(request.create, null)
      return await makeOnce(context, request, async () => ({
        action: 'createKey',
        changed: await createKeyOf(context, manager.accountId, limits),
      }))
    }
    const key = await readOwn(context, keyId)
    if (request.rotate) {
      const { overlapSeconds } = request.rotate
      return await makeOnce(context, request, async () => ({
        action: 'rotateKey',
        changed: await rotateKeyOf(context, keyId, { overlapSeconds }),
      }))
    }
    if (request.change) return toManaged(await change(context, key, request.change))
    if (request.revoke) return toManaged(await revoke(context, keyId))
    throw new RangeError('the request has no act')
  })
}

const toManaged = (key: Key): Managed => ({ key, secret: '', replayed: false })

/** Throws an AdminError for an unknown key, and in the same words for that of another account. */
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

async function change(context: Managing, key: Key, settings: KeySettings__Output): Promise<Key> {
  const limits = toLimits(settings, key)
  const { disabled } = settings
  if (Object.keys(limits).length === 0 && disabled === undefined) throw new RangeError('nothing to change')
  let changed = key
  if (Object.keys(limits).length > 0) {
    changed = await audited(context, 'changeKey', await changeKeyTo(context, key.id, limits))
  }
  if (disabled === undefined) return changed
  const action = disabled ? 'disableKey' : 'enableKey'
  const status = disabled ? 'disabled' : 'active'
  return await audited(context, action, await setKeyStatus(context, { id: key.id, status }))
}

async function revoke(context: Managing, id: string): Promise<Key> {
  return await audited(context, 'revokeKey', await setKeyStatus(context, { id, status: 'revoked' }))
}

/** Makes a key, or finds the one that an earlier request with the same idempotency key made. */
async function makeOnce(
  context: Managing,
  request: ManageKeyRequest__Output,
  make: () => Promise<{ action: string; changed: Changed<NewKey> }>,
): Promise<Managed> {
  const { db, now, manager } = context
  const { idempotencyKey, keyId, create, rotate } = request
  if (idempotencyKey.length > MAX_IDEMPOTENCY_KEY) throw new RangeError('idempotency_key')
  const sha256 = createHash('sha256')
    .update(JSON.stringify([keyId, create ?? null, rotate ?? null]))
    .digest()
  if (idempotencyKey !== '') {
    const forgotten = new Date(now.getTime() - REMEMBERED_MS)
    const ofAccount = db.deleteFrom('key_requests').where('account_id', '=', manager.accountId)
    await ofAccount.where('created_at', '<', forgotten).execute()
    const earlier = await db
      .selectFrom('key_requests')
      .select(['sha256', 'key_id'])
      .where('account_id', '=', manager.accountId)
      .where('idempotency_key', '=', idempotencyKey)
      .executeTakeFirst()
    if (earlier !== undefined) {
      if (!earlier.sha256.equals(sha256)) {
        throw new AdminError('conflict', 'This idempotency-key was used for another request.')
      }
      return { key: await readKeyRecord(db, earlier.key_id, now), secret: '', replayed: true }
    }
  }
  await assertRoom(context)
  const { action, changed } = await make()
  const { secret, ...key } = await audited(context, action, changed)
  if (idempotencyKey !== '') {
    const made = { account_id: manager.accountId, key_id: key.id, created_at: now }
    await db
      .insertInto('key_requests')
      .values({ ...made, idempotency_key: idempotencyKey, sha256 })
      .execute()
  }
  return { key, secret, replayed: false }
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

/** Writes the audit entry of the account's act, and returns its answer. */
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

/** Checked as an operator's request is. `present`: the key that is changed. Throws an AdminError. */
function toLimits(settings: KeySettings__Output, present: Key | null): KeyLimits {
  const { name, expiresAtMs, models, requestsPerMinute, tokensPerMinute } = settings
  const spendLimit = toSpendLimit(settings, present)
  const result = ADMIN.createKey.body.safeParse({
    ...(name !== undefined && { name: name === '' ? null : name }),
    ...(expiresAtMs !== undefined && {
      expiresAt: expiresAtMs === '0' ? null : new Date(Number(expiresAtMs)).toISOString(),
    }),
    ...(models !== null && { models: models.ids.length === 0 ? null : models.ids }),
    ...(spendLimit !== undefined && { spendLimit }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute: requestsPerMinute || null }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute: Number(tokensPerMinute) || null }),
  })
  if (!result.success) throw toInvalidRequest(result.error)
  return result.data
}

/** Amount and period belong together; a request may give one of them. Undefined: it gives none. */
function toSpendLimit({ limitNano, limitPeriod }: KeySettings__Output, present: Key | null) {
  if (limitNano === undefined && limitPeriod === undefined) return undefined
  if (limitNano === '0' && limitPeriod === undefined) return null
  const amountNano = limitNano ?? present?.spendLimit?.amountNano
  if (amountNano === undefined || amountNano === '0') {
    throw new AdminError(
      'invalid_request',
      "'spendLimit': expected a limit, because its reset is given",
      'spendLimit',
    )
  }
  return { amountNano, period: limitPeriod ?? present?.spendLimit?.period ?? 'total' }
}

const REASONS: Partial<Record<AdminError['code'], KeyRefusal['reason']>> = {
  not_found: 'NOT_FOUND',
  conflict: 'CONFLICT',
  invalid_request: 'INVALID',
}

function toRefusal(error: AdminError): KeyRefusal {
  const reason = REASONS[error.code]
  if (reason === undefined) throw error
  return { reason, message: error.message, param: error.param ?? '' }
}
