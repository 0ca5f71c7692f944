import { z } from 'zod'
import { toTime } from '../cells.ts'
import { defineList } from '../command.ts'
import { text } from '../fields.ts'
import type { Column } from '../table.ts'

export const Alarm = z.object({
  requestId: z.string(),
  kind: z.string(),
  epoch: z.number(),
  outcome: z.string(),
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  worker: z.string(),
  seenAt: z.string(),
})

export const ALARM_COLUMNS: readonly Column<z.infer<typeof Alarm>>[] = [
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
  summary: 'Lists settlements that should not exist, the newest first; nothing was charged for them.',
  fields: { kind: text('KIND', 'unknown, released or different') },
  examples: ['alarms', 'alarms --kind different'],
  path: '/alarms',
  item: Alarm,
  columns: ALARM_COLUMNS,
})

export const ALARM_COMMANDS = [list] as const
