import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { ManagementKey } from '#libs/admin-contract/resources/management-keys.ts'
import { toTime } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { REASON, argument, requiredText, text } from '../fields.ts'
import { formatFields } from '../table.ts'
import { ACCOUNT } from './accounts.ts'

const list = defineList({
  name: 'management-keys list',
  operation: ADMIN.listManagementKeys,
  fields: { account: text('ACCOUNT', 'id of the account') },
  examples: ['management-keys list --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  columns: [
    { title: 'management key', cell: ({ id }) => id },
    { title: 'account', cell: ({ accountId }) => accountId },
    { title: 'name', cell: ({ name }) => name },
    { title: 'secret', cell: toHint },
    { title: 'status', cell: ({ status }) => status },
    { title: 'expires', cell: ({ expiresAt }) => toTime(expiresAt) },
    { title: 'last used', cell: ({ lastUsedAt }) => toTime(lastUsedAt) },
  ],
})

const create = defineCall({
  name: 'management-keys create',
  operation: ADMIN.createManagementKey,
  fields: {
    account: ACCOUNT,
    name: requiredText('NAME', 'of the person or the tool'),
    expiresAt: text('TIME', 'such as 2030-01-01T00:00:00Z'),
    reason: REASON,
  },
  examples: ['management-keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --name deployment'],
  show: ({ secret, ...key }) =>
    `${showManagementKey(key)}\n${secret}\nThis is its secret. It is shown only once.\n`,
})

const revoke = defineCall({
  name: 'management-keys revoke',
  operation: ADMIN.revokeManagementKey,
  fields: { managementKey: argument('KEY', 'id of the management key'), reason: REASON },
  examples: ['management-keys revoke 5c1d9f0e-2f4b-4f4e-8a53-1d5f4c1f7b22 --reason "left the team"'],
  show: showManagementKey,
})

export const MANAGEMENT_KEY_COMMANDS = [list, create, revoke] as const

function showManagementKey(key: ManagementKey): string {
  return formatFields([
    ['management key', key.id],
    ['account', key.accountId],
    ['name', key.name],
    ['secret', toHint(key)],
    ['status', key.status],
    ['created', toTime(key.createdAt)],
    ['expires', toTime(key.expiresAt)],
    ['last used', toTime(key.lastUsedAt)],
    ['revoked', toTime(key.revokedAt)],
  ])
}

/** Returns the first and last characters of a secret, enough to recognize it. */
function toHint({ prefix, last4 }: ManagementKey): string {
  return `${prefix}…${last4}`
}
