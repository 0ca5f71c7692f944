import { z } from 'zod'
import { Text, Time, TimeInput } from '../fields.ts'
import { NOTHING, defineRead } from '../operation.ts'
import { Limit, SeqCursor, pageOf, toPage } from '../page.ts'
import { Role } from '../roles.ts'

const Word = Text.min(1).max(200)

const AuditRecord = z
  .object({
    seq: z.string(),
    at: Time,
    actor: z.string().meta({ description: 'Name of the credential.' }),
    role: Role,
    action: z.string().meta({ description: 'The operation.' }),
    target: z.string().nullable().meta({ description: 'Id of what was changed.' }),
    reason: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditRecord' })

const listAudit = defineRead({
  id: 'listAudit',
  method: 'GET',
  url: '/audit',
  summary: 'Lists what operators changed, the newest first.',
  path: NOTHING,
  query: z.strictObject({
    actor: Word.optional(),
    action: Word.optional(),
    target: Word.optional(),
    from: TimeInput.optional(),
    to: TimeInput.optional().meta({ description: 'Exclusive.' }),
    limit: Limit,
    cursor: SeqCursor.optional(),
  }),
  body: NOTHING,
  answer: pageOf('AuditPage', AuditRecord),
  errors: [],
  async run({ query: { actor, action, target, from, to, limit, cursor } }, { db }) {
    let records = db
      .selectFrom('admin_audit')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(limit + 1)
    if (actor !== undefined) records = records.where('actor', '=', actor)
    if (action !== undefined) records = records.where('action', '=', action)
    if (target !== undefined) records = records.where('target', '=', target)
    if (from !== undefined) records = records.where('at', '>=', from)
    if (to !== undefined) records = records.where('at', '<', to)
    if (cursor !== undefined) records = records.where('seq', '<', cursor)
    return toPage(await records.execute(), limit, {
      item: ({ seq, at, ...record }) => ({ ...record, seq: seq.toString(), at: at.toISOString() }),
      cursor: ({ seq }) => seq.toString(),
    })
  },
})

export const AUDIT_OPERATIONS = [listAudit] as const
