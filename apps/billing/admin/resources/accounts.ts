import { randomUUID } from 'node:crypto'
import type { Kysely, Selectable } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Account } from '#libs/admin-contract/resources/accounts.ts'
import type { Tables } from '../../database/tables.ts'
import type { Changed } from '../../resources/write-audit.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementChange, implementRead, type AdminContext } from '../implement.ts'
import { readAccount } from '../../resources/read-account.ts'
import { isAfterCursor, toPage } from '../list-page.ts'

const createAccount = implementChange(
  ADMIN.createAccount,
  async ({ body: { name, reason } }, { db, now }) => {
    const id = randomUUID()
    await db.insertInto('accounts').values({ id, name, created_at: now }).execute()
    return { answer: await readOne(db, id), audit: { target: id, reason, details: { name } } }
  },
)

const listAccounts = implementRead(
  ADMIN.listAccounts,
  async ({ query: { name, status, limit, cursor } }, { db }) => {
    let accounts = selectAccounts(db)
      .orderBy('accounts.created_at', 'desc')
      .orderBy('accounts.id', 'desc')
      .limit(limit + 1)
    if (name !== undefined) {
      accounts = accounts.where((eb) =>
        eb(eb.fn<number>('strpos', [eb.fn('lower', ['accounts.name']), eb.val(name.toLowerCase())]), '>', 0),
      )
    }
    if (status !== undefined) accounts = accounts.where('accounts.status', '=', status)
    if (cursor !== undefined) {
      const place = { table: 'accounts', alias: 'accounts' } as const
      accounts = accounts.where(await isAfterCursor(db, place, cursor))
    }
    return toPage(await accounts.execute(), limit, { item: toAccount, cursor: ({ id }) => id })
  },
)

const readAccountById = implementRead(
  ADMIN.readAccount,
  async ({ params }, { db }) => await readOne(db, params.account),
)

const changeAccount = implementChange(
  ADMIN.changeAccount,
  async ({ params: { account: id }, body: { weight, reason } }, { db }) => {
    const before = await readAccount(db, id)
    await db.updateTable('accounts').set({ weight }).where('id', '=', id).execute()
    const details = { weight, before: before.weight }
    const answer = await readOne(db, id)
    return { answer, audit: weight === before.weight ? null : { target: id, reason, details } }
  },
)

const closeAccount = implementChange(ADMIN.closeAccount, ({ params, body }, context) =>
  setStatus(context, { id: params.account, status: 'closed', ...body }),
)

const reopenAccount = implementChange(ADMIN.reopenAccount, ({ params, body }, context) =>
  setStatus(context, { id: params.account, status: 'active', ...body }),
)

export const ACCOUNT_OPERATIONS = {
  createAccount,
  listAccounts,
  readAccount: readAccountById,
  changeAccount,
  closeAccount,
  reopenAccount,
}

async function setStatus(
  { db }: AdminContext,
  { id, status, reason }: { id: string; status: 'active' | 'closed'; reason: string },
): Promise<Changed<Account>> {
  const { numUpdatedRows } = await db
    .updateTable('accounts')
    .set({ status })
    .where('id', '=', id)
    .where('status', '<>', status)
    .executeTakeFirstOrThrow()
  const answer = await readOne(db, id)
  return { answer, audit: numUpdatedRows === 0n ? null : { target: id, reason } }
}

async function readOne(db: Kysely<Tables>, id: string): Promise<Account> {
  const account = await selectAccounts(db).where('accounts.id', '=', id).executeTakeFirst()
  if (account === undefined) throw new AdminError('not_found', `There is no account ${id}.`)
  return toAccount(account)
}

function selectAccounts(db: Kysely<Tables>) {
  return db
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
}

type AccountRow = Selectable<Tables['accounts']> & { open_holds: bigint | null }

function toAccount(account: AccountRow): Account {
  return {
    id: account.id,
    name: account.name,
    status: account.status,
    weight: account.weight,
    postedNano: account.posted.toString(),
    heldNano: account.held.toString(),
    availableNano: (account.posted - account.held).toString(),
    openHolds: Number(account.open_holds ?? 0n),
    createdAt: account.created_at.toISOString(),
  }
}
