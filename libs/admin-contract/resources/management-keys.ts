import { z } from 'zod'
import { AccountId, Id, Name, Reason, Time, TimeInput } from '../fields.ts'
import { defineChange, defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, CUSTOMERS } from '../roles.ts'
import { AccountPath } from './accounts.ts'

/** The most usable management keys of one account. */
export const MAX_MANAGEMENT_KEYS = 10

export const ManagementKey = z
  .object({
    id: Id,
    accountId: Id,
    name: z.string(),
    prefix: z.string().meta({ description: 'The first characters of the secret.' }),
    last4: z.string(),
    status: z.enum(['active', 'expired', 'revoked']),
    createdAt: Time,
    expiresAt: Time.nullable(),
    lastUsedAt: Time.nullable().meta({ description: 'To the minute.' }),
    revokedAt: Time.nullable(),
  })
  .meta({ id: 'ManagementKey' })
export type ManagementKey = z.infer<typeof ManagementKey>

const NewManagementKey = ManagementKey.extend({
  secret: z.string().meta({ description: 'Shown only here; stored as its hash.' }),
}).meta({ id: 'NewManagementKey' })

export const MANAGEMENT_KEYS = {
  createManagementKey: defineChange({
    method: 'POST',
    path: '/accounts/{account}/management-keys',
    status: 201,
    summary: 'Creates a management key of an account and shows its secret, once.',
    description: `With it the account manages its API keys at the gateway: it makes, changes, rotates and revokes them. It can neither widen a limit that an operator has set on a key, nor enable a key that an operator has disabled, nor make a new key in its place. It reads the whole account, and can never spend. An account has at most ${MAX_MANAGEMENT_KEYS} that are neither revoked nor expired.`,
    roles: CUSTOMERS,
    params: AccountPath,
    body: z.strictObject({
      name: Name.meta({ description: 'Of the person or the tool.' }),
      expiresAt: TimeInput.nullish().meta({ description: 'When it stops working.' }),
      reason: Reason.optional(),
    }),
    answer: NewManagementKey,
    errors: ['not_found', 'conflict'],
  }),

  listManagementKeys: defineRead({
    path: '/management-keys',
    summary: 'Lists management keys, the newest first; never their secrets.',
    roles: ALL,
    query: z.strictObject({ account: AccountId.optional(), ...PAGE }),
    answer: pageOf('ManagementKeyPage', ManagementKey),
    errors: ['not_found'],
  }),

  revokeManagementKey: defineChange({
    method: 'POST',
    path: '/management-keys/{managementKey}/revoke',
    summary: 'Revokes a management key, permanently and at once; the API keys that it made stay.',
    roles: CUSTOMERS,
    params: z.strictObject({ managementKey: Id.meta({ description: 'Id of the management key.' }) }),
    body: z.strictObject({ reason: Reason.optional() }),
    answer: ManagementKey,
    errors: ['not_found'],
  }),
}
