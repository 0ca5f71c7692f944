import { randomUUID } from 'node:crypto'
import { Kysely, PostgresDialect, sql } from 'kysely'
import type { Pool } from 'pg'
import { createApiKey, hashApiKey } from '#libs/api-key/api-key.ts'
import type { NanoCredits } from '#libs/money/nano-credits.ts'
import { AdminError } from './admin-error.ts'
import type { Tables } from './tables.ts'

/** Of a key, shown to people: enough to recognize it, not to use it. */
const PREFIX_LENGTH = 12

/** Reconciliation reads everything; other statements of this pool may take far less. */
const RECONCILE_LIMIT = '60s'

export type Operations = ReturnType<typeof createOperations>

/** What operators can do. Unknown accounts and keys throw an AdminError. */
export function createOperations(deps: { pool: Pool; nowMs: () => number }) {
  const { pool, nowMs } = deps
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const now = () => new Date(nowMs())

  return {
    async createAccount(name: string) {
      const id = randomUUID()
      await db.insertInto('accounts').values({ id, name, created_at: now() }).execute()
      return { id, name }
    },

    /** The same idempotency key credits once; with another amount or reason it is a conflict. */
    async topUp(
      accountId: string,
      topup: { amountNano: NanoCredits; idempotencyKey: string; reason: string },
    ) {
      const { amountNano, idempotencyKey, reason } = topup
      const { rows } = await pool.query<{ status: string; topup_id: string; posted: bigint }>(
        'select * from top_up_v1($1, $2, $3, $4, $5, $6)',
        [randomUUID(), accountId, amountNano, reason, idempotencyKey, now().toISOString()],
      )
      const row = rows[0]
      if (row === undefined || row.status === 'unknown') throw unknownAccount(accountId)
      if (row.status === 'conflict') {
        throw new AdminError('conflict', 'this idempotency key was used with another amount or reason')
      }
      return {
        id: row.topup_id,
        amountNano: amountNano.toString(),
        postedNano: row.posted.toString(),
        replayed: row.status === 'replayed',
      }
    },

    async readAccount(accountId: string) {
      const account = await db
        .selectFrom('accounts')
        .selectAll()
        .select((eb) =>
          eb
            .selectFrom('reservations')
            .select((inner) => inner.fn.countAll<bigint>().as('count'))
            .whereRef('reservations.account_id', '=', 'accounts.id')
            .where('reservations.state', '=', 'held')
            .as('open_holds'),
        )
        .where('accounts.id', '=', accountId)
        .executeTakeFirst()
      if (account === undefined) throw unknownAccount(accountId)
      return {
        id: account.id,
        name: account.name,
        status: account.status,
        postedNano: account.posted.toString(),
        heldNano: account.held.toString(),
        availableNano: (account.posted - account.held).toString(),
        openHolds: Number(account.open_holds ?? 0n),
        createdAt: account.created_at.toISOString(),
      }
    },

    /** The only time that the secret is seen. */
    async createKey(accountId: string, name: string | null) {
      const account = await db
        .selectFrom('accounts')
        .select('id')
        .where('id', '=', accountId)
        .where('status', '=', 'active')
        .executeTakeFirst()
      if (account === undefined) throw unknownAccount(accountId)
      const secret = createApiKey()
      const id = randomUUID()
      const shown = { prefix: secret.slice(0, PREFIX_LENGTH), last4: secret.slice(-4) }
      await db
        .insertInto('api_keys')
        .values({
          id,
          account_id: accountId,
          name,
          sha256: hashApiKey(secret),
          prefix: shown.prefix,
          last4: shown.last4,
          created_at: now(),
        })
        .execute()
      return { id, accountId, name, secret, ...shown }
    },

    /** Takes effect at once for spending, and within moments at every gateway. Repeating it changes nothing. */
    async revokeKey(keyId: string) {
      await db
        .updateTable('api_keys')
        .set({ status: 'revoked', revoked_at: now() })
        .where('id', '=', keyId)
        .where('status', '=', 'active')
        .execute()
      const key = await db
        .selectFrom('api_keys')
        .select(['id', 'revoked_at'])
        .where('id', '=', keyId)
        .executeTakeFirst()
      if (key === undefined) throw new AdminError('not_found', `there is no key ${keyId}`)
      return { id: key.id, revokedAt: key.revoked_at?.toISOString() ?? null }
    },

    /** Each question's count of rows that contradict it; all must be zero. */
    async reconcile() {
      const rows = await db.transaction().execute(async (transaction) => {
        await sql`select set_config('statement_timeout', ${RECONCILE_LIMIT}, true)`.execute(transaction)
        return await transaction.selectFrom('reconciliation').selectAll().execute()
      })
      return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]))
    },
  }
}

function unknownAccount(accountId: string): AdminError {
  return new AdminError('not_found', `there is no open account ${accountId}`)
}
