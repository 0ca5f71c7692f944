import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Alarm } from '#libs/admin-contract/resources/alarms.ts'
import { toTime } from '../cells.ts'
import { defineList } from '../command.ts'
import { text } from '../fields.ts'
import type { Column } from '../table.ts'

export const ALARM_COLUMNS: readonly Column<Alarm>[] = [
  { title: 'seen', cell: ({ seenAt }) => toTime(seenAt) },
  { title: 'kind', cell: ({ kind }) => kind },
  { title: 'request', cell: ({ requestId }) => requestId },
  { title: 'attempt', cell: ({ epoch }) => epoch, align: 'right' },
  { title: 'outcome', cell: ({ outcome }) => outcome },
  { title: 'prompt', cell: ({ promptTokens }) => promptTokens, align: 'right' },
  { title: 'cached', cell: ({ cachedTokens }) => cachedTokens, align: 'right' },
  { title: 'completion', cell: ({ completionTokens }) => completionTokens, align: 'right' },
  { title: 'worker', cell: ({ worker }) => worker },
]

const list = defineList({
  name: 'alarms',
  operation: ADMIN.listAlarms,
  fields: { kind: text('KIND', 'unknown, released or different') },
  examples: ['alarms', 'alarms --kind different'],
  columns: ALARM_COLUMNS,
})

export const ALARM_COMMANDS = [list] as const
