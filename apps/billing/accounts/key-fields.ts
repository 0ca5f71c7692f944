import type { Kysely } from 'kysely'
import type { Key } from '#libs/admin-contract/resources/keys.ts'
import type { AccountKey } from '#libs/account-contract/resources/keys.ts'
import { RESETS } from '#libs/account-contract/spend-period.ts'
import { toCreditsNumber } from '#libs/money/price-usage.ts'
import type { Tables } from '../database/tables.ts'
import { readUsage, type Usage } from '../resources/read-usage.ts'

/** The limits of an API key; a management key has none. */
type Limited = Pick<
  Key,
  'expiresAt' | 'models' | 'requestsPerMinute' | 'tokensPerMinute' | 'spendLimit' | 'spending'
>

export const toCredits = (nano: string | bigint) => toCreditsNumber(BigInt(nano))

/**
 * Returns what a key was charged and what it may spend, in fields with the names of `#libs/account-contract`. The
 * amounts in `nano` are the same amounts in nano-credits, without rounding.
 */
export function toKeyFields(key: Limited, usage: Usage) {
  const nano = {
    ...usage,
    limit: key.spendLimit?.amountNano ?? null,
    limit_remaining: key.spending?.leftNano ?? null,
  }
  return {
    spending: {
      usage: toCredits(nano.usage),
      usage_daily: toCredits(nano.usage_daily),
      usage_weekly: toCredits(nano.usage_weekly),
      usage_monthly: toCredits(nano.usage_monthly),
      limit: nano.limit === null ? null : toCredits(nano.limit),
      limit_remaining: nano.limit_remaining === null ? null : toCredits(nano.limit_remaining),
      limit_reset: key.spendLimit === null ? null : RESETS[key.spendLimit.period],
      expires_at: key.expiresAt,
    },
    allowed: {
      models: key.models,
      requests_per_minute: key.requestsPerMinute,
      tokens_per_minute: key.tokensPerMinute,
    },
    nano,
  }
}

export const toLabel = ({ prefix, last4 }: Pick<Key, 'prefix' | 'last4'>) => `${prefix}…${last4}`

/** Returns keys with their charges. The last key must be the oldest one. */
export async function describeKeys(
  db: Kysely<Tables>,
  keys: readonly Key[],
  now: Date,
): Promise<AccountKey[]> {
  const oldest = keys.at(-1)
  if (oldest === undefined) return []
  const since = new Date(oldest.createdAt)
  const usageOf = await readUsage(db, { column: 'key_id', ids: keys.map(({ id }) => id), since }, now)
  return keys.map((key) => toAccountKey(key, usageOf(key.id)))
}

export async function describeKey(db: Kysely<Tables>, key: Key, now: Date): Promise<AccountKey> {
  const since = new Date(key.createdAt)
  const usageOf = await readUsage(db, { column: 'key_id', ids: [key.id], since }, now)
  return toAccountKey(key, usageOf(key.id))
}

function toAccountKey(key: Key, usage: Usage): AccountKey {
  const { spending, allowed, nano } = toKeyFields(key, usage)
  return {
    id: key.id,
    label: toLabel(key),
    name: key.name,
    status: key.status,
    disabled: key.status === 'disabled',
    ...spending,
    ...allowed,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
    revoked_at: key.revokedAt,
    rotated_from: key.rotatedFrom,
    nano,
  }
}
