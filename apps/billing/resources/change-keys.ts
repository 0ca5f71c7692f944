import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { createApiKey, hashApiKey } from '#libs/api-key/api-key.ts'
import type { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { AnswerOf } from '#libs/admin-contract/operation.ts'
import { PREFIX_LENGTH, type Key, type KeyLimits } from '#libs/admin-contract/resources/keys.ts'
import type { Tables } from '../database/tables.ts'
import { AdminError } from './admin-error.ts'
import { countPeriod, lockAccountOf } from './count-period.ts'
import { lockKey, readKeyRecord } from './key-record.ts'
import {
  assertWithin,
  OperatorLimits,
  toNewKeyLimits,
  withOperatorChange,
  type KeyContext,
} from './operator-limits.ts'
import { readAccount } from './read-account.ts'
import type { Changed } from './write-audit.ts'

export type NewKey = AnswerOf<typeof ADMIN.createKey>

/**
 * Creates a key. Throws an AdminError if the account is unknown or closed, if a limit is wrong, or if the account
 * itself creates a key that would evade limits set by operators.
 */
export async function createKeyOf(
  { db, now, setBy }: KeyContext,
  accountId: string,
  { reason, ...wanted }: Reasoned<KeyLimits>,
): Promise<Changed<NewKey>> {
  const account = await readAccount(db, accountId)
  if (account.status !== 'active') throw new AdminError('conflict', 'The account is closed.')
  const inherited = setBy === 'account' ? await toNewKeyLimits({ db, now, setBy }, account.id) : {}
  const limits = setBy === 'account' ? { ...toLimits(inherited), ...wanted } : wanted
  assertWithin(inherited, limits)
  const { id, secret } = await insertKey(db, {
    ...NO_LIMITS,
    ...(await toColumns(db, limits, now)),
    operatorLimits: setBy === 'account' ? inherited : withOperatorChange({}, limits),
    account_id: account.id,
    created_at: now,
  })
  const key = await readKeyRecord(db, id, now)
  return {
    answer: { ...key, secret },
    audit: { target: id, reason, details: { account: account.id, ...toDetails(limits) } },
  }
}

/**
 * Changes a key's limits. Throws an AdminError if the key is unknown or revoked, if a limit is wrong, or if the account
 * itself makes the change and the new limit is less strict than an operator's limit.
 */
export async function changeKeyTo(
  { db, now, setBy }: KeyContext,
  id: string,
  { reason, ...limits }: Reasoned<KeyLimits>,
): Promise<Changed<Key>> {
  if (limits.spendLimit != null) await lockAccountOf(db, id)
  // The lock keeps this change from overwriting a limit that an operator sets at the same time.
  const before = await lockKey(db, id)
  if (before.status === 'revoked')
    throw new AdminError('conflict', 'The key is revoked, and a revocation is permanent.')
  const set = OperatorLimits.parse(before.operator_limits)
  if (setBy === 'account') assertWithin(set, limits)
  const operatorLimits = setBy === 'account' ? set : withOperatorChange(set, limits)
  await db
    .updateTable('api_keys')
    .set({ ...(await toColumns(db, limits, now)), operator_limits: JSON.stringify(operatorLimits) })
    .where('id', '=', id)
    .execute()
  await countPeriod({ db, now }, before, limits)
  const answer = await readKeyRecord(db, id, now)
  return { answer, audit: { target: id, reason, details: toDetails(limits) } }
}

/** Fields with the reason for the audit log. */
type Reasoned<Fields> = Fields & { readonly reason?: string | undefined }

type KeyColumns = Pick<
  Tables['api_keys'],
  | 'name'
  | 'expires_at'
  | 'models'
  | 'spend_limit'
  | 'spend_period'
  | 'requests_per_minute'
  | 'tokens_per_minute'
>

const NO_LIMITS: KeyColumns = {
  name: null,
  expires_at: null,
  models: null,
  spend_limit: null,
  spend_period: null,
  requests_per_minute: null,
  tokens_per_minute: null,
}

/** Inserts a key with a new id and a new secret, and returns both. */
export async function insertKey(
  db: Kysely<Tables>,
  {
    operatorLimits,
    ...columns
  }: KeyColumns & {
    operatorLimits: OperatorLimits
    account_id: string
    created_at: Date
    rotated_from?: string
  },
): Promise<{ id: string; secret: string }> {
  const id = randomUUID()
  const secret = createApiKey()
  await db
    .insertInto('api_keys')
    .values({
      rotated_from: null,
      revoked_at: null,
      ...columns,
      operator_limits: JSON.stringify(operatorLimits),
      id,
      sha256: hashApiKey(secret),
      prefix: secret.slice(0, PREFIX_LENGTH),
      last4: secret.slice(-4),
    })
    .execute()
  return { id, secret }
}

/** Converts operators' limits to the limits of a request. */
function toLimits({ expiresAt, models }: OperatorLimits): KeyLimits {
  return {
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    ...(models !== undefined && { models }),
  }
}

/** Returns the columns of the given limits only. */
async function toColumns(db: Kysely<Tables>, limits: KeyLimits, now: Date): Promise<Partial<KeyColumns>> {
  const { name, expiresAt, models, spendLimit, requestsPerMinute, tokensPerMinute } = limits
  assertFuture(expiresAt, now)
  if (models) await assertModels(db, models)
  return {
    ...(name === undefined ? {} : { name }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    ...(models === undefined ? {} : { models }),
    ...(spendLimit === undefined
      ? {}
      : { spend_limit: spendLimit?.amountNano ?? null, spend_period: spendLimit?.period ?? null }),
    ...(requestsPerMinute === undefined ? {} : { requests_per_minute: requestsPerMinute }),
    ...(tokensPerMinute === undefined
      ? {}
      : { tokens_per_minute: tokensPerMinute === null ? null : BigInt(tokensPerMinute) }),
  }
}

/** Throws an AdminError if the expiry is not in the future. */
export function assertFuture(expiresAt: Date | null | undefined, now: Date): void {
  if (expiresAt && expiresAt <= now) {
    throw new AdminError('invalid_request', "'expiresAt': expected a time in the future", 'expiresAt')
  }
}

async function assertModels(db: Kysely<Tables>, models: readonly string[]): Promise<void> {
  const known = await db.selectFrom('models').select('id').where('id', 'in', models).execute()
  const ids = new Set(known.map(({ id }) => id))
  const unknown = models.find((model) => !ids.has(model))
  if (unknown !== undefined)
    throw new AdminError('invalid_request', `'models': there is no model ${unknown}`, 'models')
}

/** Returns the limits for the audit log, with amounts as text. */
export function toDetails({ spendLimit, ...limits }: KeyLimits): Record<string, unknown> {
  if (spendLimit === undefined) return limits
  return {
    ...limits,
    spendLimit: spendLimit && { ...spendLimit, amountNano: spendLimit.amountNano.toString() },
  }
}
