import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { ManagementKey } from '#libs/admin-contract/resources/management-keys.ts'
import { defineCall, defineList } from '../command.ts'
import { showFields, showSecret, type Shown } from '../view.ts'

/** The first and last characters of a secret, enough to recognize it. */
const HINT = { title: 'secret', cell: ({ prefix, last4 }: ManagementKey) => `${prefix}…${last4}` }

const MANAGEMENT_KEY: readonly Shown<ManagementKey>[] = [
  ['id', 'management key'],
  'accountId',
  'name',
  HINT,
  'status',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
  'revokedAt',
]

const list = defineList({
  name: 'management-keys list',
  operation: ADMIN.listManagementKeys,
  examples: ['management-keys list --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  shown: [['id', 'management key'], 'accountId', 'name', HINT, 'status', 'expiresAt', 'lastUsedAt'],
})

const create = defineCall({
  name: 'management-keys create',
  operation: ADMIN.createManagementKey,
  examples: ['management-keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --name deployment'],
  show: (created) => showSecret(showFields(ManagementKey, MANAGEMENT_KEY, created), 'secret', created.secret),
})

const revoke = defineCall({
  name: 'management-keys revoke',
  operation: ADMIN.revokeManagementKey,
  examples: ['management-keys revoke 5c1d9f0e-2f4b-4f4e-8a53-1d5f4c1f7b22 --reason "left the team"'],
  show: MANAGEMENT_KEY,
})

export const MANAGEMENT_KEY_COMMANDS = [list, create, revoke] as const
