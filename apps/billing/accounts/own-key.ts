import { sql, type Kysely } from 'kysely'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { selectKeys, toKeyRecord } from '../resources/key-record.ts'
import type { Tables } from '../database/tables.ts'
import { forAnyKey, type Reading } from './implement.ts'
import { toCredits, toKeyFields, toLabel } from './key-fields.ts'
import { readUsage } from '../resources/read-usage.ts'

const readKey = forAnyKey(ACCOUNT.readKey, async (_asked, reading) => {
  const { db, now, manager, scope } = reading
  const { since, ...key } = await readLimits(reading)
  const usageOf = await readUsage(db, { column: scope.column, ids: [scope.id], since }, now)
  const { spending, allowed, nano: exact } = toKeyFields(key, usageOf(scope.id))
  const { available, held } = await readFunds(db, key.accountId)
  const left = exact.limit_remaining === null ? available : BigInt(exact.limit_remaining)
  // A management key cannot spend.
  const spendable = manager !== null ? 0n : left < available ? left : available
  return {
    data: {
      label: key.label,
      name: key.name,
      ...spending,
      is_management_key: manager !== null,
      is_free_tier: false as const,
      ...allowed,
      available: toCredits(available),
      held: toCredits(held),
      spendable: toCredits(spendable),
      nano: {
        ...exact,
        available: String(available),
        held: String(held),
        spendable: String(spendable),
      },
    },
  }
})

const readCredits = forAnyKey(ACCOUNT.readCredits, async (_asked, reading) => {
  const { accountId } = await readLimits(reading)
  const { posted, credited, available, held } = await readFunds(reading.db, accountId)
  // The charges are the credits that the account has received, less the credits that it still has.
  const used = credited - posted
  return {
    data: {
      total_credits: toCredits(credited),
      total_usage: toCredits(used),
      available: toCredits(available),
      held: toCredits(held),
      nano: {
        total_credits: String(credited),
        total_usage: String(used),
        available: String(available),
        held: String(held),
      },
    },
  }
})

export const OWN_KEY_OPERATIONS = { readKey, readCredits }

/**
 * Returns the caller's limits. `since` in the result is the time at which the key or account was created, so nothing
 * was charged to it before.
 */
async function readLimits({ db, now, manager, scope }: Reading) {
  if (manager === null) {
    const row = await selectKeys(db, now).where('k.id', '=', scope.id).executeTakeFirst()
    if (row === undefined) throw new ApiError('invalid_key', 'The API key is no longer valid.')
    const key = toKeyRecord(row, now)
    return { ...key, label: toLabel(key), since: row.created_at }
  }
  const { created_at: since } = await db
    .selectFrom('accounts')
    .select('created_at')
    .where('id', '=', manager.accountId)
    .executeTakeFirstOrThrow()
  return { ...NO_LIMITS, ...manager, expiresAt: manager.expiresAt?.toISOString() ?? null, since }
}

const NO_LIMITS = {
  models: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  spendLimit: null,
  spending: null,
}

/** Reads balance and sums in one statement, so that they belong to the same moment. */
async function readFunds(db: Kysely<Tables>, accountId: string) {
  const { rows } = await sql<{ posted: string; held: string; credited: string }>`
    select a.posted::text, a.held::text, (
      coalesce((select sum(amount) from topups where account_id = a.id), 0)
      + coalesce((select sum(amount) from adjustments where account_id = a.id), 0)
    )::text as credited
    from accounts a where a.id = ${accountId}`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('a key has no account')
  const [posted, held] = [BigInt(row.posted), BigInt(row.held)]
  return { posted, held, credited: BigInt(row.credited), available: posted - held }
}
