import type { Kysely, Selectable } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { AdminError } from './admin-error.ts'

/** Returns an account. Throws an AdminError if it is unknown. */
export async function readAccount(db: Kysely<Tables>, id: string): Promise<Selectable<Tables['accounts']>> {
  const account = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
  if (account === undefined) throw new AdminError('not_found', `There is no account ${id}.`)
  return account
}
