import { z } from 'zod'
import { Flag, Time, Whole } from '../fields.ts'
import { defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, SERVICE } from '../roles.ts'

const Counts = z.array(z.object({ question: z.string(), rows: z.int() })).meta({
  description: 'The number of rows that contradict each question; all must be zero.',
})
export type Counts = z.infer<typeof Counts>

export const ReconciliationRun = z
  .object({ at: Time, agrees: z.boolean(), counts: Counts })
  .meta({ id: 'ReconciliationRun' })

const Seal = z
  .object({
    day: z.string().meta({ description: 'The UTC day on which it was made.' }),
    firstSeq: Whole,
    lastSeq: Whole.meta({ description: 'Inclusive; below firstSeq when there was no entry.' }),
    entries: Whole,
    sha256: z.string().meta({ description: 'Hexadecimal; of the chain of all entries up to lastSeq.' }),
    sealedAt: Time,
  })
  .meta({ id: 'Seal' })

export const RECONCILIATION = {
  reconcile: defineRead({
    path: '/reconciliation',
    summary: 'Compares the books with themselves, now.',
    description:
      'From the newest seal on; with `whole=true` from the first entry, seals included, which may take minutes.',
    roles: SERVICE,
    query: z.strictObject({ whole: Flag.optional() }),
    answer: z
      .object({ whole: z.boolean(), agrees: z.boolean(), counts: Counts })
      .meta({ id: 'Reconciliation' }),
  }),

  listReconciliations: defineRead({
    path: '/reconciliation/runs',
    summary: 'Lists the scheduled comparisons, the newest first.',
    roles: ALL,
    query: z.strictObject(PAGE),
    answer: pageOf('ReconciliationRunPage', ReconciliationRun),
  }),

  listSeals: defineRead({
    path: '/seals',
    summary: 'Lists the daily seals of the ledger, the newest first.',
    roles: ALL,
    query: z.strictObject(PAGE),
    answer: pageOf('SealPage', Seal),
  }),
}
