import { z } from 'zod'
import { Id, Name, Reason, Time } from '../fields.ts'
import { defineChange, defineRead } from '../operation.ts'
import { OWNER, Role } from '../roles.ts'
import { FRESH_SESSION_MINUTES } from './sessions.ts'

const BY_FRESH_SESSION = `A session must be younger than ${FRESH_SESSION_MINUTES} minutes.`

export const Credential = z
  .object({ id: Id, name: z.string(), role: Role, createdAt: Time, revokedAt: Time.nullable() })
  .meta({ id: 'Credential' })
export type Credential = z.infer<typeof Credential>

const NewCredential = Credential.extend({
  token: z.string().meta({ description: 'Shown only here; stored as its hash.' }),
}).meta({ id: 'NewCredential' })

export const CREDENTIALS = {
  createCredential: defineChange({
    method: 'POST',
    path: '/credentials',
    status: 201,
    summary: 'Creates a credential of the admin interface and shows its token, once.',
    description: BY_FRESH_SESSION,
    roles: OWNER,
    body: z.strictObject({
      name: Name.meta({ description: 'Of the person or the tool; cannot be used again.' }),
      role: Role,
      reason: Reason.optional(),
    }),
    answer: NewCredential,
    errors: ['conflict', 'stale_session'],
  }),

  listCredentials: defineRead({
    path: '/credentials',
    summary: 'Lists the credentials of the admin interface, revoked ones included; never their tokens.',
    roles: OWNER,
    answer: z.object({ data: z.array(Credential) }).meta({ id: 'CredentialList' }),
  }),

  revokeCredential: defineChange({
    method: 'POST',
    path: '/credentials/{credential}/revoke',
    summary: 'Revokes a credential, permanently and at once, and ends its sessions.',
    description: BY_FRESH_SESSION,
    roles: OWNER,
    params: z.strictObject({ credential: Id.meta({ description: 'Id of the credential.' }) }),
    body: z.strictObject({ reason: Reason.optional() }),
    answer: Credential,
    errors: ['not_found', 'stale_session'],
  }),
}
