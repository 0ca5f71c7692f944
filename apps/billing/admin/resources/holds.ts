import { sql } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { RELEASE_WARNING } from '#libs/admin-contract/resources/holds.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementChange, implementRead } from '../implement.ts'
import { isAfterCursor, toPage } from '../list-page.ts'
import { assertModel } from './catalog.ts'
import { readAccount } from '../../resources/read-account.ts'

const listHolds = implementRead(
  ADMIN.listHolds,
  async ({ query: { account, model, olderThanSeconds, limit, cursor } }, { db, now }) => {
    let holds = db
      .selectFrom('reservations as r')
      .selectAll()
      .select(sql<Date>`coalesce(r.extended_deadline, r.deadline)`.as('current_deadline'))
      .where('r.state', '=', 'held')
      // Only a tombstone lacks these columns, and the state of a tombstone is never `held`.
      .$narrowType<{ account_id: string; key_id: string; model: string; amount: bigint }>()
      .$narrowType<{ input_tokens: number; granted_output: number; expires_at: Date }>()
      .orderBy('r.created_at', 'desc')
      .orderBy('r.id', 'desc')
      .limit(limit + 1)
    if (account !== undefined) holds = holds.where('r.account_id', '=', (await readAccount(db, account)).id)
    if (model !== undefined) {
      await assertModel(db, model)
      holds = holds.where('r.model', '=', model)
    }
    if (olderThanSeconds !== undefined) {
      holds = holds.where('r.created_at', '<=', new Date(now.getTime() - olderThanSeconds * 1_000))
    }
    if (cursor !== undefined) {
      holds = holds.where(await isAfterCursor(db, { table: 'reservations', alias: 'r' }, cursor))
    }
    return toPage(await holds.execute(), limit, {
      item: (row) => ({
        id: row.id,
        accountId: row.account_id,
        keyId: row.key_id,
        model: row.model,
        amountNano: row.amount.toString(),
        inputTokens: row.exact_input ?? row.input_tokens,
        grantedTokens: row.granted_output,
        createdAt: row.created_at.toISOString(),
        ageSeconds: Math.max(0, Math.floor((now.getTime() - row.created_at.getTime()) / 1_000)),
        deadline: row.current_deadline.toISOString(),
        expiresAt: row.expires_at.toISOString(),
      }),
      cursor: ({ id }) => id,
    })
  },
)

const releaseHold = implementChange(
  ADMIN.releaseHold,
  async ({ params: { hold: id }, body: { reason } }, { db, now }) => {
    const read = () =>
      db.selectFrom('reservations').select(['state', 'amount']).where('id', '=', id).executeTakeFirst()
    const before = await read()
    // The SQL function would record an unknown id as released; here an unknown id is a mistake in typing, and is
    // refused.
    if (before === undefined) throw new AdminError('not_found', `There is no hold ${id}.`)
    if (before.state === 'held') await sql`select from release(ids => ${[id]}, at => ${now})`.execute(db)
    const after = await read()
    if (before.state !== 'held' || after?.state !== 'released') {
      throw new AdminError('conflict', `The hold is not open: it is ${after?.state ?? before.state}.`)
    }
    const freedNano = String(after.amount)
    return {
      answer: { id, freedNano, warning: RELEASE_WARNING },
      audit: { target: id, reason, details: { freedNano } },
    }
  },
)

export const HOLD_OPERATIONS = { listHolds, releaseHold }
