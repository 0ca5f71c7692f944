import { sql, type Kysely } from 'kysely'
import type { Key } from '#libs/admin-contract/resources/keys.ts'
import type { AccountKey } from '#proto/types/millrace/billing/AccountKey.ts'
import type { KeyUsage } from '#proto/types/millrace/billing/KeyUsage.ts'
import type { ListAccountKeysResponse } from '#proto/types/millrace/billing/ListAccountKeysResponse.ts'
import { selectKeys, toKeyRecord } from '../admin/resources/key-record.ts'
import type { Tables } from '../database/tables.ts'
import { readUsage } from './read-usage.ts'

/** The cursor is the time of creation in microseconds, and the id. */
const CURSOR = /^(\d{1,17})-([0-9a-f-]{36})$/

/** The account's keys, newest first. Throws a RangeError for a cursor that is none. */
export async function listAccountKeys(
  db: Kysely<Tables>,
  { accountId, limit, cursor }: { accountId: string; limit: number; cursor: string },
  now: Date,
): Promise<ListAccountKeysResponse> {
  let keys = selectKeys(db, now)
    .select(sql<string>`(extract(epoch from k.created_at) * 1000000)::bigint::text`.as('created_us'))
    .where('k.account_id', '=', accountId)
    .orderBy('k.created_at', 'desc')
    .orderBy('k.id', 'desc')
    .limit(limit + 1)
  if (cursor !== '') {
    const [, createdUs, id] = CURSOR.exec(cursor) ?? []
    if (createdUs === undefined || id === undefined) throw new RangeError('cursor')
    keys = keys.where(
      sql<boolean>`(k.created_at, k.id) < (timestamptz 'epoch' + ${createdUs}::bigint * interval '1 microsecond', ${id}::uuid)`,
    )
  }
  const rows = await keys.execute()
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  if (last === undefined) return { keys: [], nextCursor: '' }
  // The last one of the page is the oldest.
  const ids = page.map(({ id }) => id)
  const usageOf = await readUsage(db, { column: 'key_id', ids, since: last.created_at }, now)
  return {
    keys: page.map((row) => toAccountKey(toKeyRecord(row, now), usageOf(row.id))),
    nextCursor: rows.length > limit ? `${last.created_us}-${last.id}` : '',
  }
}

/** With the key's usage. */
export async function withUsage(db: Kysely<Tables>, key: Key, now: Date): Promise<AccountKey> {
  const since = new Date(key.createdAt)
  const usageOf = await readUsage(db, { column: 'key_id', ids: [key.id], since }, now)
  return toAccountKey(key, usageOf(key.id))
}

function toAccountKey(key: Key, usage: KeyUsage): AccountKey {
  const { spendLimit: limit, spending } = key
  return {
    keyId: key.id,
    label: `${key.prefix}…${key.last4}`,
    name: key.name ?? '',
    status: key.status,
    createdAtMs: toMs(key.createdAt),
    expiresAtMs: toMs(key.expiresAt),
    revokedAtMs: toMs(key.revokedAt),
    lastUsedAtMs: toMs(key.lastUsedAt),
    rotatedFrom: key.rotatedFrom ?? '',
    ...(key.models !== null && { models: { ids: key.models } }),
    requestsPerMinute: key.requestsPerMinute ?? 0,
    tokensPerMinute: String(key.tokensPerMinute ?? 0),
    ...(limit !== null &&
      spending !== null && {
        limit: { amountNano: limit.amountNano, leftNano: spending.leftNano, period: limit.period },
      }),
    usage,
  }
}

const toMs = (time: string | null) => (time === null ? '0' : String(Date.parse(time)))
