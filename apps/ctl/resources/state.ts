import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toCredits, toTime } from '../cells.ts'
import { defineCall } from '../command.ts'
import { formatFields, formatTable } from '../table.ts'

const state = defineCall({
  name: 'state',
  operation: ADMIN.readState,
  summary:
    'Shows whether the books are up to date; exits with 1 when they disagree, a hold is overdue or a settlement was put aside.',
  examples: ['state'],
  show: ({ watermarks, moneyCallsWaiting, reconciliation, overdueHolds, alarms, deadLetters, writeOffs }) =>
    `${formatFields([
      ['books compared', toTime(reconciliation?.at ?? null)],
      ['they agree', reconciliation && (reconciliation.agrees ? 'yes' : 'NO')],
      ['overdue holds', overdueHolds],
      ['money calls waiting', moneyCallsWaiting],
      ['alarms of 24 h', alarms.map(({ kind, settlements }) => `${kind}: ${settlements}`).join(', ')],
      ['dead letters', deadLetters.map(({ model, settlements }) => `${model}: ${settlements}`).join(', ')],
      ['written off in 24 h', `${toCredits(writeOffs.writtenOffNano)} for ${writeOffs.requests} requests`],
    ])}\n${formatTable(
      [
        { title: 'model', cell: ({ model }) => model },
        { title: 'settlements read to (s ago)', cell: ({ ageMs }) => ageMs / 1_000, align: 'right' },
      ],
      watermarks,
    )}`,
  isProblem: ({ reconciliation, overdueHolds, deadLetters }) =>
    reconciliation?.agrees === false || overdueHolds > 0 || deadLetters.length > 0,
})

export const STATE_COMMANDS = [state] as const
