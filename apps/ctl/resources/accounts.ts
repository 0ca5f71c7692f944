import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Account } from '#libs/admin-contract/resources/accounts.ts'
import { toCredits, toTime } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { REASON, REQUIRED_REASON, argument, text } from '../fields.ts'
import { formatFields, type Column } from '../table.ts'

export const ACCOUNT = argument('ACCOUNT', 'id of the account')

const COLUMNS: readonly Column<Account>[] = [
  { title: 'account', cell: ({ id }) => id },
  { title: 'name', cell: ({ name }) => name },
  { title: 'status', cell: ({ status }) => status },
  { title: 'available', cell: ({ availableNano }) => toCredits(availableNano), align: 'right' },
  { title: 'held', cell: ({ heldNano }) => toCredits(heldNano), align: 'right' },
  { title: 'holds', cell: ({ openHolds }) => openHolds, align: 'right' },
  { title: 'created', cell: ({ createdAt }) => toTime(createdAt) },
]

const list = defineList({
  name: 'accounts list',
  operation: ADMIN.listAccounts,
  fields: {
    name: text('TEXT', 'a part of the name; case does not matter'),
    status: text('STATUS', 'active or closed'),
  },
  examples: ['accounts list', 'accounts list --name acme --status active'],
  columns: COLUMNS,
})

const show = defineCall({
  name: 'accounts show',
  operation: ADMIN.readAccount,
  fields: { account: ACCOUNT },
  examples: ['accounts show 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  show: showAccount,
})

const create = defineCall({
  name: 'accounts create',
  operation: ADMIN.createAccount,
  fields: { name: argument('NAME', 'of the customer'), reason: REASON },
  examples: ['accounts create acme', 'accounts create acme --reason "contract 17"'],
  show: showAccount,
})

const close = defineCall({
  name: 'accounts close',
  operation: ADMIN.closeAccount,
  fields: { account: ACCOUNT, reason: REQUIRED_REASON },
  examples: ['accounts close 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --reason unpaid'],
  show: showAccount,
})

const reopen = defineCall({
  name: 'accounts reopen',
  operation: ADMIN.reopenAccount,
  fields: { account: ACCOUNT, reason: REQUIRED_REASON },
  examples: ['accounts reopen 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --reason paid'],
  show: showAccount,
})

export const ACCOUNT_COMMANDS = [list, show, create, close, reopen] as const

function showAccount(account: Account): string {
  return formatFields([
    ['account', account.id],
    ['name', account.name],
    ['status', account.status],
    ['posted', toCredits(account.postedNano)],
    ['held', toCredits(account.heldNano)],
    ['available', toCredits(account.availableNano)],
    ['open holds', account.openHolds],
    ['created', toTime(account.createdAt)],
  ])
}
