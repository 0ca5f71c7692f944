import { z } from 'zod'
import { ACCOUNT_WEIGHT } from '#libs/contracts/account-weight.ts'
import { AccountId, Id, Name, Nano, Reason, Time } from '../fields.ts'
import { defineChange, defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, CUSTOMERS } from '../roles.ts'

const Status = z.enum(['active', 'closed'])

const Weight = z.int().min(ACCOUNT_WEIGHT.min).max(ACCOUNT_WEIGHT.max).meta({
  description:
    'The share of a saturated model, relative to other accounts. With weight 3 the account gets three times the tokens of an account with weight 1.',
})

export const Account = z
  .object({
    id: Id,
    name: z.string(),
    status: Status,
    weight: Weight,
    postedNano: Nano.meta({ description: 'The balance, holds included.' }),
    heldNano: Nano.meta({ description: 'The part of it that open holds set aside.' }),
    availableNano: Nano.meta({ description: 'The part that can be spent: posted less held.' }),
    openHolds: z.int(),
    createdAt: Time,
  })
  .meta({ id: 'Account' })
export type Account = z.infer<typeof Account>

export const AccountPath = z.strictObject({ account: AccountId })

export const ACCOUNTS = {
  createAccount: defineChange({
    method: 'POST',
    path: '/accounts',
    status: 201,
    summary: 'Creates an account without credits.',
    roles: CUSTOMERS,
    body: z.strictObject({
      name: Name.meta({ description: 'Of the customer.' }),
      reason: Reason.optional(),
    }),
    answer: Account,
  }),

  listAccounts: defineRead({
    path: '/accounts',
    summary: 'Lists accounts, the newest first.',
    roles: ALL,
    query: z.strictObject({
      name: Name.optional().meta({ description: 'A part of the name; case does not matter.' }),
      status: Status.optional(),
      ...PAGE,
    }),
    answer: pageOf('AccountPage', Account),
  }),

  readAccount: defineRead({
    path: '/accounts/{account}',
    summary: 'Shows an account and its balance.',
    roles: ALL,
    params: AccountPath,
    answer: Account,
    errors: ['not_found'],
  }),

  changeAccount: defineChange({
    method: 'PATCH',
    path: '/accounts/{account}',
    summary: 'Changes the weight of an account.',
    description:
      'Within moments, gateways use the new weight for requests that arrive. Requests that wait already keep their places.',
    roles: CUSTOMERS,
    params: AccountPath,
    body: z.strictObject({ weight: Weight, reason: Reason.optional() }),
    answer: Account,
    errors: ['not_found'],
  }),

  closeAccount: defineChange({
    method: 'POST',
    path: '/accounts/{account}/close',
    summary: 'Closes an account: its keys stop working at once, its balance stays.',
    roles: CUSTOMERS,
    params: AccountPath,
    body: z.strictObject({ reason: Reason }),
    answer: Account,
    errors: ['not_found'],
  }),

  reopenAccount: defineChange({
    method: 'POST',
    path: '/accounts/{account}/reopen',
    summary: 'Reopens a closed account, with the keys that it had.',
    roles: CUSTOMERS,
    params: AccountPath,
    body: z.strictObject({ reason: Reason }),
    answer: Account,
    errors: ['not_found'],
  }),
}
