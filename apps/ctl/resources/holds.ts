import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineCall, defineList } from '../command.ts'
import { toPrintable } from '../table.ts'
import { showFields } from '../view.ts'

const list = defineList({
  name: 'holds list',
  operation: ADMIN.listHolds,
  examples: ['holds list', 'holds list --older-than-seconds 3600'],
  shown: [
    ['id', 'hold'],
    'accountId',
    'model',
    ['amountNano', 'credits'],
    'grantedTokens',
    'ageSeconds',
    'deadline',
    'expiresAt',
  ],
})

const release = defineCall({
  name: 'holds release',
  operation: ADMIN.releaseHold,
  summary: 'Releases an open hold by force; a later settlement charges nothing.',
  examples: ['holds release 5b1f9a52-7b0e-4a4e-8f0d-2f6f3f1f6f10 --reason "ticket 4711"'],
  show: (released) =>
    `${showFields(ADMIN.releaseHold.answer, [['id', 'hold'], 'freedNano'], released)}\n${toPrintable(released.warning)}\n`,
})

export const HOLD_COMMANDS = [list, release] as const
