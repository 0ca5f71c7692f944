import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import { createApiKey, hashApiKey } from '#libs/api-key/api-key.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../admin-error.ts'
import { Id, Name, Reason, Text, TimeInput } from '../fields.ts'
import { NOTHING, defineChange, defineRead } from '../operation.ts'
import { IdCursor, Limit, isAfterCursor, pageOf, toPage } from '../page.ts'
import { AccountPath, readAccount } from './accounts.ts'
import {
  KeyRecord,
  Models,
  PerMinute,
  SpendLimit,
  readKeyRecord,
  selectKeys,
  toKeyRecord,
} from './key-record.ts'

/** Of a secret, shown to people: enough to recognize it, not to use it. */
const PREFIX_LENGTH = 12

/** What a key may do; null takes the limit away. */
const Limits = z.object({
  name: Name.nullable().optional(),
  expiresAt: TimeInput.nullable().optional(),
  models: Models.nullable().optional(),
  spendLimit: SpendLimit.nullable().optional(),
  requestsPerMinute: PerMinute.nullable().optional(),
  tokensPerMinute: PerMinute.nullable().optional(),
})
type Limits = z.output<typeof Limits>

export const NewKey = KeyRecord.extend({
  secret: z.string().meta({ description: 'Shown only here; stored as its hash.' }),
}).meta({ id: 'NewKey' })

export const KeyPath = z.strictObject({ key: Id })

const createKey = defineChange({
  id: 'createKey',
  method: 'POST',
  url: '/accounts/{account}/keys',
  status: 201,
  summary: 'Makes a key and shows its secret, once.',
  path: AccountPath,
  query: NOTHING,
  body: z.strictObject({ ...Limits.shape, reason: Reason.optional() }),
  answer: NewKey,
  errors: ['not_found', 'conflict', 'request_too_large'],
  async run({ path, body: { reason, ...limits } }, { db, now }) {
    const account = await readAccount(db, path.account)
    if (account.status !== 'active') throw new AdminError('conflict', 'The account is closed.')
    const columns = await toColumns(db, limits, now)
    const { id, secret } = await insertKey(db, {
      ...NO_LIMITS,
      ...columns,
      account_id: account.id,
      created_at: now,
    })
    const key = await readKeyRecord(db, id, now)
    return {
      answer: { ...key, secret },
      audit: { target: id, reason, details: { account: account.id, ...toDetails(limits) } },
    }
  },
})

const listKeys = defineRead({
  id: 'listKeys',
  method: 'GET',
  url: '/keys',
  summary: 'Lists keys, the newest first.',
  path: NOTHING,
  query: z.strictObject({
    account: Id.optional(),
    prefix: Text.min(1).max(PREFIX_LENGTH).optional().meta({ description: 'What the secret begins with.' }),
    last4: Text.length(4).optional(),
    limit: Limit,
    cursor: IdCursor.optional(),
  }),
  body: NOTHING,
  answer: pageOf('KeyPage', KeyRecord),
  errors: ['not_found'],
  async run({ query: { account, prefix, last4, limit, cursor } }, { db, now }) {
    let keys = selectKeys(db, now)
      .orderBy('k.created_at', 'desc')
      .orderBy('k.id', 'desc')
      .limit(limit + 1)
    if (account !== undefined) keys = keys.where('k.account_id', '=', (await readAccount(db, account)).id)
    if (prefix !== undefined)
      keys = keys.where((eb) => eb(eb.fn('starts_with', ['k.prefix', eb.val(prefix)]), '=', true))
    if (last4 !== undefined) keys = keys.where('k.last4', '=', last4)
    if (cursor !== undefined) {
      keys = keys.where(await isAfterCursor(db, { table: 'api_keys', alias: 'k' }, cursor))
    }
    return toPage(await keys.execute(), limit, {
      item: (key) => toKeyRecord(key, now),
      cursor: ({ id }) => id,
    })
  },
})

const readKey = defineRead({
  id: 'readKey',
  method: 'GET',
  url: '/keys/{key}',
  summary: 'Shows a key and what it spent; never its secret.',
  path: KeyPath,
  query: NOTHING,
  body: NOTHING,
  answer: KeyRecord,
  errors: ['not_found'],
  run: async ({ path }, { db, now }) => await readKeyRecord(db, path.key, now),
})

const changeKey = defineChange({
  id: 'changeKey',
  method: 'PATCH',
  url: '/keys/{key}',
  status: 200,
  summary: 'Changes the name, the expiry and the limits of a key; null takes a limit away.',
  path: KeyPath,
  query: NOTHING,
  body: z
    .strictObject({ ...Limits.shape, reason: Reason.optional() })
    .refine(
      ({ reason: _reason, ...limits }) => Object.keys(limits).length > 0,
      'give at least one field to change',
    ),
  answer: KeyRecord,
  errors: ['not_found', 'conflict', 'request_too_large'],
  async run({ path, body: { reason, ...limits } }, { db, now }) {
    const before = await readKeyRecord(db, path.key, now)
    if (before.status === 'revoked')
      throw new AdminError('conflict', 'The key is revoked, which is for good.')
    await db
      .updateTable('api_keys')
      .set(await toColumns(db, limits, now))
      .where('id', '=', path.key)
      .execute()
    const answer = await readKeyRecord(db, path.key, now)
    return { answer, audit: { target: path.key, reason, details: toDetails(limits) } }
  },
})

export const KEY_OPERATIONS = [createKey, listKeys, readKey, changeKey] as const

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

/** A new secret under a new id. */
export async function insertKey(
  db: Kysely<Tables>,
  columns: KeyColumns & { account_id: string; created_at: Date; rotated_from?: string },
): Promise<{ id: string; secret: string }> {
  const id = randomUUID()
  const secret = createApiKey()
  await db
    .insertInto('api_keys')
    .values({
      rotated_from: null,
      revoked_at: null,
      ...columns,
      id,
      sha256: hashApiKey(secret),
      prefix: secret.slice(0, PREFIX_LENGTH),
      last4: secret.slice(-4),
    })
    .execute()
  return { id, secret }
}

/** Only the columns that `limits` names. */
async function toColumns(db: Kysely<Tables>, limits: Limits, now: Date): Promise<Partial<KeyColumns>> {
  const { name, expiresAt, models, spendLimit, requestsPerMinute, tokensPerMinute } = limits
  if (expiresAt && expiresAt <= now) {
    throw new AdminError('invalid_request', "'expiresAt': expected a time in the future", 'expiresAt')
  }
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

async function assertModels(db: Kysely<Tables>, models: readonly string[]): Promise<void> {
  const known = await db.selectFrom('models').select('id').where('id', 'in', models).execute()
  const ids = new Set(known.map(({ id }) => id))
  const unknown = models.find((model) => !ids.has(model))
  if (unknown !== undefined)
    throw new AdminError('invalid_request', `'models': there is no model ${unknown}`, 'models')
}

/** As the audit log has them: amounts as text. */
function toDetails({ spendLimit, ...limits }: Limits): Record<string, unknown> {
  if (spendLimit === undefined) return limits
  return {
    ...limits,
    spendLimit: spendLimit && { ...spendLimit, amountNano: spendLimit.amountNano.toString() },
  }
}
