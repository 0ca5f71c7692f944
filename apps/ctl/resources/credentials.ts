import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Credential } from '#libs/admin-contract/resources/credentials.ts'
import { toTime } from '../cells.ts'
import { defineCall } from '../command.ts'
import { REASON, argument } from '../fields.ts'
import { formatFields, formatTable } from '../table.ts'

const create = defineCall({
  name: 'credentials create',
  operation: ADMIN.createCredential,
  fields: {
    name: argument('NAME', 'of the person or the tool; cannot be used again'),
    role: argument('ROLE', 'owner, support, ops or viewer'),
    reason: REASON,
  },
  examples: ['credentials create helpdesk support', 'credentials create wall-screen viewer'],
  show: ({ token, ...credential }) =>
    `${showCredential(credential)}\n${token}\nThis is its token. It is shown only once.\n`,
})

const list = defineCall({
  name: 'credentials list',
  operation: ADMIN.listCredentials,
  fields: {},
  examples: ['credentials list'],
  show: ({ data }) =>
    formatTable(
      [
        { title: 'credential', cell: ({ id }) => id },
        { title: 'name', cell: ({ name }) => name },
        { title: 'role', cell: ({ role }) => role },
        { title: 'created', cell: ({ createdAt }) => toTime(createdAt) },
        { title: 'revoked', cell: ({ revokedAt }) => toTime(revokedAt) },
      ],
      data,
    ),
})

const revoke = defineCall({
  name: 'credentials revoke',
  operation: ADMIN.revokeCredential,
  fields: { credential: argument('CREDENTIAL', 'its id'), reason: REASON },
  examples: ['credentials revoke 0b0f4d1e-7c0c-4f0e-9a56-6f2f9f6f2a10 --reason "left the team"'],
  show: showCredential,
})

export const CREDENTIAL_COMMANDS = [create, list, revoke] as const

function showCredential(credential: Credential): string {
  return formatFields([
    ['credential', credential.id],
    ['name', credential.name],
    ['role', credential.role],
    ['created', toTime(credential.createdAt)],
    ['revoked', toTime(credential.revokedAt)],
  ])
}
