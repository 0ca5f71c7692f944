import { z } from 'zod'
import { Flag } from '../fields.ts'
import { NOTHING, defineRead } from '../operation.ts'

const Counts = z.array(z.object({ question: z.string(), rows: z.int() })).meta({
  description: 'How many rows contradict each question; all must be zero.',
})

const Reconciliation = z
  .object({ whole: z.boolean(), agrees: z.boolean(), counts: Counts })
  .meta({ id: 'Reconciliation' })

const reconcile = defineRead({
  id: 'reconcile',
  method: 'GET',
  url: '/reconciliation',
  summary: 'Compares the books with themselves, now.',
  description:
    'From the newest seal on; with `whole=true` from the first entry, seals included, which may take minutes.',
  path: NOTHING,
  query: z.strictObject({ whole: Flag.optional() }),
  body: NOTHING,
  answer: Reconciliation,
  errors: [],
  async run({ query: { whole = false } }, context) {
    const counts = await context.reconcile(whole)
    return { whole, agrees: counts.every(({ rows }) => rows === 0), counts }
  },
})

export const RECONCILIATION_OPERATIONS = [reconcile] as const
