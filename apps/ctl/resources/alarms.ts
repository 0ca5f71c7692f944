import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Alarm } from '#libs/admin-contract/resources/alarms.ts'
import { defineList } from '../command.ts'
import type { Shown } from '../view.ts'

export const ALARM: readonly Shown<Alarm>[] = [
  'seenAt',
  'kind',
  'requestId',
  ['epoch', 'attempt'],
  'outcome',
  'promptTokens',
  'cachedTokens',
  'completionTokens',
  'worker',
]

const list = defineList({
  name: 'alarms',
  operation: ADMIN.listAlarms,
  examples: ['alarms', 'alarms --kind different'],
  shown: ALARM,
})

export const ALARM_COMMANDS = [list] as const
