import { z } from 'zod'
import { Text, Time, TimeInput } from '../fields.ts'
import { defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, AuditRole } from '../roles.ts'

const Word = Text.min(1).max(200)

const AuditRecord = z
  .object({
    seq: z.string(),
    at: Time,
    actor: z.string().meta({
      description: 'Name of the credential; of the role account: id of the management key.',
    }),
    role: AuditRole,
    action: z.string().meta({ description: 'The operation.' }),
    target: z.string().nullable().meta({ description: 'Id of the changed resource.' }),
    reason: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditRecord' })

export const AUDIT = {
  listAudit: defineRead({
    path: '/audit',
    summary: 'Lists the changes that operators, and accounts with management keys, made, the newest first.',
    roles: ALL,
    query: z.strictObject({
      actor: Word.optional().meta({ description: 'Name of the credential, or id of the management key.' }),
      action: Word.optional().meta({ description: 'Such as topUp or revokeKey.' }),
      target: Word.optional().meta({ description: 'Id of the changed resource.' }),
      from: TimeInput.optional().meta({ description: 'Inclusive.' }),
      to: TimeInput.optional().meta({ description: 'Exclusive.' }),
      ...PAGE,
    }),
    answer: pageOf('AuditPage', AuditRecord),
  }),
}
