import { sql, type Kysely, type Selectable } from 'kysely'
import type { Key } from '#libs/admin-contract/resources/keys.ts'
import type { Tables } from '../database/tables.ts'
import { AdminError } from './admin-error.ts'
import { OperatorLimits, toSetNames } from './operator-limits.ts'

/** Returns a key. Throws an AdminError if it is unknown. */
export async function readKeyRecord(db: Kysely<Tables>, id: string, now: Date): Promise<Key> {
  const key = await selectKeys(db, now).where('k.id', '=', id).executeTakeFirst()
  if (key === undefined) throw new AdminError('not_found', `There is no key ${id}.`)
  return toKeyRecord(key, now)
}

/** Locks the key's row until the end of the transaction and returns it. Throws an AdminError if the key is unknown. */
export async function lockKey(db: Kysely<Tables>, id: string): Promise<Selectable<Tables['api_keys']>> {
  const key = await db.selectFrom('api_keys').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
  if (key === undefined) throw new AdminError('not_found', `There is no key ${id}.`)
  return key
}

/** Selects keys with their spent and held credits in the current period of their spend limit. */
export function selectKeys(db: Kysely<Tables>, now: Date) {
  return db
    .selectFrom('api_keys as k')
    .leftJoin('key_budgets as b', (join) =>
      join
        .onRef('b.key_id', '=', 'k.id')
        .on('b.period_start', '=', sql<Date>`period_start(k.spend_period, ${now})`),
    )
    .selectAll('k')
    .select(['b.spent', 'b.held'])
    .select((eb) => [
      sql<Date | null>`case when k.spend_period <> 'total' then period_start(k.spend_period, ${now}) end`.as(
        'period_start',
      ),
      eb
        .selectFrom('usage as u')
        .select((inner) => inner.fn.max('u.settled_at').as('at'))
        .whereRef('u.key_id', '=', 'k.id')
        .as('last_used_at'),
    ])
}

type KeyRow = Awaited<ReturnType<ReturnType<typeof selectKeys>['executeTakeFirstOrThrow']>>

export function toKeyRecord(key: KeyRow, now: Date): Key {
  const hasExpired = key.expires_at !== null && key.expires_at <= now
  return {
    id: key.id,
    accountId: key.account_id,
    name: key.name,
    prefix: key.prefix,
    last4: key.last4,
    status: key.status === 'active' && hasExpired ? 'expired' : key.status,
    expiresAt: key.expires_at?.toISOString() ?? null,
    models: key.models,
    ...toSpending(key),
    requestsPerMinute: key.requests_per_minute,
    tokensPerMinute: key.tokens_per_minute === null ? null : Number(key.tokens_per_minute),
    lastUsedAt: key.last_used_at?.toISOString() ?? null,
    rotatedFrom: key.rotated_from,
    setByOperator: toSetNames(OperatorLimits.parse(key.operator_limits)),
    createdAt: key.created_at.toISOString(),
    revokedAt: key.revoked_at?.toISOString() ?? null,
  }
}

function toSpending(key: KeyRow): Pick<Key, 'spendLimit' | 'spending'> {
  const { spend_limit: limit, spend_period: period } = key
  if (limit === null || period === null) return { spendLimit: null, spending: null }
  const [spent, held] = [key.spent ?? 0n, key.held ?? 0n]
  const left = limit - spent - held
  return {
    spendLimit: { amountNano: limit.toString(), period },
    spending: {
      periodStart: key.period_start?.toISOString() ?? null,
      spentNano: spent.toString(),
      heldNano: held.toString(),
      // The limit may be below the spent amount.
      leftNano: (left > 0n ? left : 0n).toString(),
    },
  }
}
