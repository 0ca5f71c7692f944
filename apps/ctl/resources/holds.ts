import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toCredits, toTime } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { REQUIRED_REASON, argument, text } from '../fields.ts'
import { formatFields, toPrintable } from '../table.ts'

const list = defineList({
  name: 'holds list',
  operation: ADMIN.listHolds,
  fields: {
    account: text('ACCOUNT', 'id of the account'),
    model: text('MODEL', 'id of the model'),
    olderThanSeconds: text('SECONDS', 'only holds at least that old'),
  },
  examples: ['holds list', 'holds list --older-than-seconds 3600'],
  columns: [
    { title: 'hold', cell: ({ id }) => id },
    { title: 'account', cell: ({ accountId }) => accountId },
    { title: 'model', cell: ({ model }) => model },
    { title: 'credits', cell: ({ amountNano }) => toCredits(amountNano), align: 'right' },
    { title: 'granted', cell: ({ grantedTokens }) => grantedTokens, align: 'right' },
    { title: 'age (s)', cell: ({ ageSeconds }) => ageSeconds, align: 'right' },
    { title: 'deadline', cell: ({ deadline }) => toTime(deadline) },
    { title: 'expires', cell: ({ expiresAt }) => toTime(expiresAt) },
  ],
})

const release = defineCall({
  name: 'holds release',
  operation: ADMIN.releaseHold,
  summary: 'Releases an open hold by force; a later settlement charges nothing.',
  fields: {
    hold: argument('HOLD', 'its id, which is the id of its request'),
    reason: REQUIRED_REASON,
  },
  examples: ['holds release 5b1f9a52-7b0e-4a4e-8f0d-2f6f3f1f6f10 --reason "ticket 4711"'],
  show: ({ id, freedNano, warning }) =>
    `${formatFields([
      ['hold', id],
      ['freed', toCredits(freedNano)],
    ])}\n${toPrintable(warning)}\n`,
})

export const HOLD_COMMANDS = [list, release] as const
