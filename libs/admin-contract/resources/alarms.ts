import { z } from 'zod'
import { Id, Time } from '../fields.ts'
import { defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL } from '../roles.ts'

const Kind = z.enum(['unknown', 'released', 'different']).meta({
  description:
    'unknown: there was no reservation. released: its hold had been released. different: it contradicts an earlier one.',
})

export const Alarm = z
  .object({
    requestId: Id,
    kind: Kind,
    epoch: z.int(),
    outcome: z.string(),
    promptTokens: z.int(),
    cachedTokens: z.int(),
    completionTokens: z.int(),
    worker: z.string(),
    seenAt: Time,
  })
  .meta({ id: 'Alarm' })
export type Alarm = z.infer<typeof Alarm>

export const ALARMS = {
  listAlarms: defineRead({
    path: '/alarms',
    summary: 'Lists settlements that should not exist, the newest first; nothing was charged for them.',
    roles: ALL,
    query: z.strictObject({ kind: Kind.optional(), ...PAGE }),
    answer: pageOf('AlarmPage', Alarm),
  }),
}
