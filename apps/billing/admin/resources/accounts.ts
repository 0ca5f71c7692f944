import { randomUUID } from 'node:crypto'
import type { Kysely, Selectable } from 'kysely'
import { z } from 'zod'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../admin-error.ts'
import { Id, Name, Nano, Reason, Time } from '../fields.ts'
import { NOTHING, defineChange, defineRead, type AdminContext, type Changed } from '../operation.ts'
import { IdCursor, Limit, isAfterCursor, pageOf, toPage } from '../page.ts'

const Status = z.enum(['active', 'closed'])

const Account = z
  .object({
    id: Id,
    name: z.string(),
    status: Status,
    postedNano: Nano.meta({ description: 'Credits that are there.' }),
    heldNano: Nano.meta({ description: 'What open holds set aside of them.' }),
    availableNano: Nano.meta({ description: 'What can be spent: posted less held.' }),
    openHolds: z.int(),
    createdAt: Time,
  })
  .meta({ id: 'Account' })

export const AccountPath = z.strictObject({ account: Id })

const createAccount = defineChange({
  id: 'createAccount',
  method: 'POST',
  url: '/accounts',
  status: 201,
  summary: 'Makes an account without credits.',
  path: NOTHING,
  query: NOTHING,
  body: z.strictObject({ name: Name, reason: Reason.optional() }),
  answer: Account,
  errors: ['request_too_large'],
  async run({ body: { name, reason } }, { db, now }) {
    const id = randomUUID()
    await db.insertInto('accounts').values({ id, name, created_at: now }).execute()
    return { answer: await readOne(db, id), audit: { target: id, reason, details: { name } } }
  },
})

const listAccounts = defineRead({
  id: 'listAccounts',
  method: 'GET',
  url: '/accounts',
  summary: 'Lists accounts, the newest first.',
  path: NOTHING,
  query: z.strictObject({
    name: Name.optional().meta({ description: 'A part of the name; case does not matter.' }),
    status: Status.optional(),
    limit: Limit,
    cursor: IdCursor.optional(),
  }),
  body: NOTHING,
  answer: pageOf('AccountPage', Account),
  errors: [],
  async run({ query: { name, status, limit, cursor } }, { db }) {
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
})

const readAccountById = defineRead({
  id: 'readAccount',
  method: 'GET',
  url: '/accounts/{account}',
  summary: 'Shows an account and its balance.',
  path: AccountPath,
  query: NOTHING,
  body: NOTHING,
  answer: Account,
  errors: ['not_found'],
  run: async ({ path }, { db }) => await readOne(db, path.account),
})

const closeAccount = defineChange({
  id: 'closeAccount',
  method: 'POST',
  url: '/accounts/{account}/close',
  status: 200,
  summary: 'Closes an account: its keys stop working at once, its balance stays.',
  path: AccountPath,
  query: NOTHING,
  body: z.strictObject({ reason: Reason }),
  answer: Account,
  errors: ['not_found', 'request_too_large'],
  run: ({ path, body }, context) => setStatus(context, { id: path.account, status: 'closed', ...body }),
})

const reopenAccount = defineChange({
  id: 'reopenAccount',
  method: 'POST',
  url: '/accounts/{account}/reopen',
  status: 200,
  summary: 'Opens a closed account again, with the keys that it had.',
  path: AccountPath,
  query: NOTHING,
  body: z.strictObject({ reason: Reason }),
  answer: Account,
  errors: ['not_found', 'request_too_large'],
  run: ({ path, body }, context) => setStatus(context, { id: path.account, status: 'active', ...body }),
})

export const ACCOUNT_OPERATIONS = [
  createAccount,
  listAccounts,
  readAccountById,
  closeAccount,
  reopenAccount,
] as const

/** Throws an AdminError when there is no such account. */
export async function readAccount(db: Kysely<Tables>, id: string): Promise<Selectable<Tables['accounts']>> {
  const account = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
  if (account === undefined) throw new AdminError('not_found', `There is no account ${id}.`)
  return account
}

async function setStatus(
  { db }: AdminContext,
  { id, status, reason }: { id: string; status: 'active' | 'closed'; reason: string },
): Promise<Changed<z.input<typeof Account>>> {
  const { numUpdatedRows } = await db
    .updateTable('accounts')
    .set({ status })
    .where('id', '=', id)
    .where('status', '<>', status)
    .executeTakeFirstOrThrow()
  const answer = await readOne(db, id)
  return { answer, audit: numUpdatedRows === 0n ? null : { target: id, reason } }
}

async function readOne(db: Kysely<Tables>, id: string): Promise<z.input<typeof Account>> {
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

function toAccount(account: AccountRow): z.input<typeof Account> {
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
}
