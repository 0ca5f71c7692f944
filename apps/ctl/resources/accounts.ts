import { z } from 'zod'
import { pathOf } from '../admin.ts'
import { toCredits, toTime } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { REASON, REQUIRED_REASON, argument, text } from '../fields.ts'
import { formatFields, type Column } from '../table.ts'

export const Account = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  postedNano: z.string(),
  heldNano: z.string(),
  availableNano: z.string(),
  openHolds: z.number(),
  createdAt: z.string(),
})
export type Account = z.infer<typeof Account>

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
  summary: 'Lists accounts, the newest first.',
  fields: {
    name: text('TEXT', 'a part of the name; case does not matter'),
    status: text('STATUS', 'active or closed'),
  },
  examples: ['accounts list', 'accounts list --name acme --status active'],
  path: '/accounts',
  item: Account,
  columns: COLUMNS,
})

const show = defineCall({
  name: 'accounts show',
  summary: 'Shows an account and its balance.',
  fields: z.strictObject({ account: ACCOUNT }),
  examples: ['accounts show 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  request: ({ account }) => ({ method: 'GET', path: pathOf`/accounts/${account}` }),
  answer: Account,
  show: showAccount,
})

const create = defineCall({
  name: 'accounts create',
  summary: 'Makes an account without credits.',
  fields: z.strictObject({ name: argument('NAME', 'whose it is'), reason: REASON }),
  examples: ['accounts create acme', 'accounts create acme --reason "contract 17"'],
  request: (body) => ({ method: 'POST', path: '/accounts', body }),
  answer: Account,
  show: showAccount,
})

const close = defineCall({
  name: 'accounts close',
  summary: 'Closes an account: its keys stop working at once, its balance stays.',
  fields: z.strictObject({ account: ACCOUNT, reason: REQUIRED_REASON }),
  examples: ['accounts close 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --reason unpaid'],
  request: ({ account, ...body }) => ({ method: 'POST', path: pathOf`/accounts/${account}/close`, body }),
  answer: Account,
  show: showAccount,
})

const reopen = defineCall({
  name: 'accounts reopen',
  summary: 'Opens a closed account again, with the keys that it had.',
  fields: z.strictObject({ account: ACCOUNT, reason: REQUIRED_REASON }),
  examples: ['accounts reopen 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --reason paid'],
  request: ({ account, ...body }) => ({ method: 'POST', path: pathOf`/accounts/${account}/reopen`, body }),
  answer: Account,
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
