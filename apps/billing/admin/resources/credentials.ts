import { randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Credential } from '#libs/admin-contract/resources/credentials.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementChange, implementRead } from '../implement.ts'
import { BOOTSTRAP_NAME } from '../sessions.ts'
import { createToken, hashToken } from '../tokens.ts'
import { assertFresh } from './sessions.ts'

/** The most credentials, so that the list needs no pages. */
const MAX_CREDENTIALS = 1_000

const createCredential = implementChange(
  ADMIN.createCredential,
  async ({ body: { name, role, reason } }, { db, actor, now }) => {
    assertFresh(actor, now)
    const token = createToken('credential')
    const created = {
      id: randomUUID(),
      name,
      role,
      sha256: hashToken(token),
      created_at: now,
      revoked_at: null,
    }
    const { count } = await db
      .selectFrom('admin_credentials')
      .select((eb) => eb.fn.countAll<bigint>().as('count'))
      .executeTakeFirstOrThrow()
    if (count >= MAX_CREDENTIALS)
      throw new AdminError('conflict', `There are ${MAX_CREDENTIALS} credentials already.`)
    const inserted =
      name !== BOOTSTRAP_NAME &&
      (await db
        .insertInto('admin_credentials')
        .values(created)
        .onConflict((conflict) => conflict.column('name').doNothing())
        .returning('id')
        .executeTakeFirst())
    // The audit log identifies actors by name, so a name is never used again, not even after a revocation.
    if (!inserted) throw new AdminError('conflict', `The name ${name} was used before.`, 'name')
    return {
      answer: { ...toCredential(created), token },
      audit: { target: created.id, reason, details: { name, role } },
    }
  },
)

const listCredentials = implementRead(ADMIN.listCredentials, async (_asked, { db }) => {
  const rows = await db.selectFrom('admin_credentials').selectAll().orderBy('name').execute()
  return { data: rows.map(toCredential) }
})

const revokeCredential = implementChange(
  ADMIN.revokeCredential,
  async ({ params, body }, { db, actor, now }) => {
    assertFresh(actor, now)
    const revoked = await db
      .updateTable('admin_credentials')
      .set({ revoked_at: now })
      .where('id', '=', params.credential)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    const credential = await db
      .selectFrom('admin_credentials')
      .selectAll()
      .where('id', '=', params.credential)
      .executeTakeFirst()
    if (credential === undefined) {
      throw new AdminError('not_found', `There is no credential ${params.credential}.`)
    }
    // The revoked credential already refuses these sessions. The sessions are also marked as ended, for the list.
    await db
      .updateTable('admin_sessions')
      .set({ ended_at: now })
      .where('credential_id', '=', credential.id)
      .where('ended_at', 'is', null)
      .execute()
    const audit = { target: credential.id, reason: body.reason, details: { name: credential.name } }
    return { answer: toCredential(credential), audit: revoked.numUpdatedRows === 0n ? null : audit }
  },
)

export const CREDENTIAL_OPERATIONS = { createCredential, listCredentials, revokeCredential }

function toCredential(row: Selectable<Tables['admin_credentials']>): Credential {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    createdAt: row.created_at.toISOString(),
    revokedAt: row.revoked_at?.toISOString() ?? null,
  }
}
