import { randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import { z } from 'zod'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../admin-error.ts'
import { Id, Name, Reason, Time } from '../fields.ts'
import { NOTHING, defineChange, defineRead } from '../operation.ts'
import { Role } from '../roles.ts'
import { BOOTSTRAP_NAME, createToken, hashToken } from '../sign-in.ts'

/** More than any team has; a list needs no pages. */
const MAX_CREDENTIALS = 1_000

const Credential = z
  .object({ id: Id, name: z.string(), role: Role, createdAt: Time, revokedAt: Time.nullable() })
  .meta({ id: 'Credential' })

const NewCredential = Credential.extend({
  token: z.string().meta({ description: 'Shown only here; stored as its hash.' }),
}).meta({ id: 'NewCredential' })

const createCredential = defineChange({
  id: 'createCredential',
  method: 'POST',
  url: '/credentials',
  status: 201,
  summary: 'Makes a credential of this interface and shows its token, once.',
  path: NOTHING,
  query: NOTHING,
  body: z.strictObject({ name: Name, role: Role, reason: Reason.optional() }),
  answer: NewCredential,
  errors: ['conflict', 'request_too_large'],
  async run({ body: { name, role, reason } }, { db, now }) {
    const token = createToken()
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
      throw new AdminError('conflict', `There are ${MAX_CREDENTIALS} credentials.`)
    const inserted =
      name !== BOOTSTRAP_NAME &&
      (await db
        .insertInto('admin_credentials')
        .values(created)
        .onConflict((conflict) => conflict.column('name').doNothing())
        .returning('id')
        .executeTakeFirst())
    // The audit log names who acted, so a name is never given twice, also not after a revocation.
    if (!inserted) throw new AdminError('conflict', `The name ${name} was given before.`, 'name')
    return {
      answer: { ...toCredential(created), token },
      audit: { target: created.id, reason, details: { name, role } },
    }
  },
})

const listCredentials = defineRead({
  id: 'listCredentials',
  method: 'GET',
  url: '/credentials',
  summary: 'Lists the credentials of this interface, revoked ones too; never their tokens.',
  path: NOTHING,
  query: NOTHING,
  body: NOTHING,
  answer: z.object({ data: z.array(Credential) }).meta({ id: 'CredentialList' }),
  errors: [],
  async run(_asked, { db }) {
    const rows = await db.selectFrom('admin_credentials').selectAll().orderBy('name').execute()
    return { data: rows.map(toCredential) }
  },
})

const revokeCredential = defineChange({
  id: 'revokeCredential',
  method: 'POST',
  url: '/credentials/{credential}/revoke',
  status: 200,
  summary: 'Revokes a credential, for good and at once.',
  path: z.strictObject({ credential: Id }),
  query: NOTHING,
  body: z.strictObject({ reason: Reason.optional() }),
  answer: Credential,
  errors: ['not_found', 'request_too_large'],
  async run({ path, body }, { db, now }) {
    const revoked = await db
      .updateTable('admin_credentials')
      .set({ revoked_at: now })
      .where('id', '=', path.credential)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    const credential = await db
      .selectFrom('admin_credentials')
      .selectAll()
      .where('id', '=', path.credential)
      .executeTakeFirst()
    if (credential === undefined) {
      throw new AdminError('not_found', `There is no credential ${path.credential}.`)
    }
    const audit = { target: credential.id, reason: body.reason, details: { name: credential.name } }
    return { answer: toCredential(credential), audit: revoked.numUpdatedRows === 0n ? null : audit }
  },
})

export const CREDENTIAL_OPERATIONS = [createCredential, listCredentials, revokeCredential] as const

function toCredential(row: Selectable<Tables['admin_credentials']>): z.input<typeof Credential> {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    createdAt: row.created_at.toISOString(),
    revokedAt: row.revoked_at?.toISOString() ?? null,
  }
}
