import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Account } from '#libs/admin-contract/resources/accounts.ts'
import { defineCall, defineList } from '../command.ts'
import type { Shown } from '../view.ts'

const ACCOUNT: readonly Shown<Account>[] = [
  ['id', 'account'],
  'name',
  'status',
  'weight',
  'postedNano',
  'heldNano',
  'availableNano',
  'openHolds',
  'createdAt',
]

const list = defineList({
  name: 'accounts list',
  operation: ADMIN.listAccounts,
  examples: ['accounts list', 'accounts list --name acme --status active'],
  shown: [
    ['id', 'account'],
    'name',
    'status',
    'weight',
    'availableNano',
    'heldNano',
    ['openHolds', 'holds'],
    'createdAt',
  ],
})

const show = defineCall({
  name: 'accounts show',
  operation: ADMIN.readAccount,
  examples: ['accounts show 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  show: ACCOUNT,
})

const create = defineCall({
  name: 'accounts create',
  operation: ADMIN.createAccount,
  places: ['name'],
  examples: ['accounts create acme', 'accounts create acme --reason "contract 17"'],
  show: ACCOUNT,
})

const change = defineCall({
  name: 'accounts change',
  operation: ADMIN.changeAccount,
  examples: ['accounts change 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --weight 3 --reason "contract 17"'],
  show: ACCOUNT,
})

const close = defineCall({
  name: 'accounts close',
  operation: ADMIN.closeAccount,
  examples: ['accounts close 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --reason unpaid'],
  show: ACCOUNT,
})

const reopen = defineCall({
  name: 'accounts reopen',
  operation: ADMIN.reopenAccount,
  examples: ['accounts reopen 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --reason paid'],
  show: ACCOUNT,
})

export const ACCOUNT_COMMANDS = [list, show, create, change, close, reopen] as const
