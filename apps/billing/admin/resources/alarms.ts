import type { Selectable } from 'kysely'
import { z } from 'zod'
import type { Tables } from '../../database/tables.ts'
import { Id, Time } from '../fields.ts'
import { NOTHING, defineRead } from '../operation.ts'
import { Limit, SeqCursor, pageOf, toPage } from '../page.ts'

const Kind = z.enum(['unknown', 'released', 'different']).meta({
  description:
    'unknown: nobody reserved it. released: its hold had been given back. different: it contradicts an earlier one.',
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

const listAlarms = defineRead({
  id: 'listAlarms',
  method: 'GET',
  url: '/alarms',
  summary: 'Lists settlements that should not exist, the newest first; nothing was charged for them.',
  path: NOTHING,
  query: z.strictObject({ kind: Kind.optional(), limit: Limit, cursor: SeqCursor.optional() }),
  body: NOTHING,
  answer: pageOf('AlarmPage', Alarm),
  errors: [],
  async run({ query: { kind, limit, cursor } }, { db }) {
    let alarms = db
      .selectFrom('settlement_alarms')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(limit + 1)
    if (kind !== undefined) alarms = alarms.where('kind', '=', kind)
    if (cursor !== undefined) alarms = alarms.where('seq', '<', cursor)
    return toPage(await alarms.execute(), limit, { item: toAlarm, cursor: ({ seq }) => seq.toString() })
  },
})

export const ALARM_OPERATIONS = [listAlarms] as const

export function toAlarm(row: Selectable<Tables['settlement_alarms']>): z.input<typeof Alarm> {
  return {
    requestId: row.reservation_id,
    kind: row.kind,
    epoch: row.epoch,
    outcome: row.outcome,
    promptTokens: row.prompt_tokens,
    cachedTokens: row.cached_tokens,
    completionTokens: row.completion_tokens,
    worker: row.settled_by,
    seenAt: row.seen_at.toISOString(),
  }
}
