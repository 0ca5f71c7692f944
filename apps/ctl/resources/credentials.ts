import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { Credential } from '#libs/admin-contract/resources/credentials.ts'
import { defineCall } from '../command.ts'
import { showFields, showSecret, showTable, type Shown } from '../view.ts'

const CREDENTIAL: readonly Shown<Credential>[] = [
  ['id', 'credential'],
  'name',
  'role',
  'createdAt',
  'revokedAt',
]

const create = defineCall({
  name: 'credentials create',
  operation: ADMIN.createCredential,
  places: ['name', 'role'],
  examples: ['credentials create helpdesk support', 'credentials create wall-screen viewer'],
  show: (created) => showSecret(showFields(Credential, CREDENTIAL, created), 'token', created.token),
})

const list = defineCall({
  name: 'credentials list',
  operation: ADMIN.listCredentials,
  examples: ['credentials list'],
  show: ({ data }) => showTable(Credential, CREDENTIAL, data),
})

const revoke = defineCall({
  name: 'credentials revoke',
  operation: ADMIN.revokeCredential,
  examples: ['credentials revoke 0b0f4d1e-7c0c-4f0e-9a56-6f2f9f6f2a10 --reason "left the team"'],
  show: CREDENTIAL,
})

export const CREDENTIAL_COMMANDS = [create, list, revoke] as const
