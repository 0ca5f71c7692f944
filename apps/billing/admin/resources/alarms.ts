import type { Selectable } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Alarm } from '#libs/admin-contract/resources/alarms.ts'
import type { Tables } from '../../database/tables.ts'
import { implementRead } from '../implement.ts'
import { toPage, toSeq } from '../list-page.ts'

const listAlarms = implementRead(ADMIN.listAlarms, async ({ query: { kind, limit, cursor } }, { db }) => {
  let alarms = db
    .selectFrom('settlement_alarms')
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(limit + 1)
  if (kind !== undefined) alarms = alarms.where('kind', '=', kind)
  if (cursor !== undefined) alarms = alarms.where('seq', '<', toSeq(cursor))
  return toPage(await alarms.execute(), limit, { item: toAlarm, cursor: ({ seq }) => seq.toString() })
})

export const ALARM_OPERATIONS = { listAlarms }

export function toAlarm(row: Selectable<Tables['settlement_alarms']>): Alarm {
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
