import { sql } from 'kysely'
import { z } from 'zod'
import { Flag, Time } from '../fields.ts'
import { NOTHING, defineRead } from '../operation.ts'
import { Limit, SeqCursor, pageOf, toPage } from '../page.ts'

const Counts = z.array(z.object({ question: z.string(), rows: z.int() })).meta({
  description: 'How many rows contradict each question; all must be zero.',
})

const agree = (counts: z.input<typeof Counts>) => counts.every(({ rows }) => rows === 0)

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
  answer: z
    .object({ whole: z.boolean(), agrees: z.boolean(), counts: Counts })
    .meta({ id: 'Reconciliation' }),
  errors: [],
  async run({ query: { whole = false } }, context) {
    const counts = await context.reconcile(whole)
    return { whole, agrees: agree(counts), counts }
  },
})

const Run = z.object({ at: Time, agrees: z.boolean(), counts: Counts }).meta({ id: 'ReconciliationRun' })

const listReconciliations = defineRead({
  id: 'listReconciliations',
  method: 'GET',
  url: '/reconciliation/runs',
  summary: 'Lists the scheduled comparisons, the newest first.',
  path: NOTHING,
  query: z.strictObject({ limit: Limit, cursor: SeqCursor.optional() }),
  body: NOTHING,
  answer: pageOf('ReconciliationRunPage', Run),
  errors: [],
  async run({ query: { limit, cursor } }, { db }) {
    let runs = db
      .selectFrom('reconciliation_runs')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(limit + 1)
    if (cursor !== undefined) runs = runs.where('seq', '<', cursor)
    return toPage(await runs.execute(), limit, {
      item: ({ at, counts }) => ({ at: at.toISOString(), agrees: agree(counts), counts }),
      cursor: ({ seq }) => seq.toString(),
    })
  },
})

const Seal = z
  .object({
    day: z.string().meta({ description: 'The UTC day on which it was made.' }),
    firstSeq: z.string(),
    lastSeq: z.string().meta({ description: 'Inclusive; below firstSeq when there was no entry.' }),
    entries: z.string(),
    sha256: z.string().meta({ description: 'Hexadecimal; of the chain of all entries up to lastSeq.' }),
    sealedAt: Time,
  })
  .meta({ id: 'Seal' })

const listSeals = defineRead({
  id: 'listSeals',
  method: 'GET',
  url: '/seals',
  summary: 'Lists the daily seals of the ledger, the newest first.',
  path: NOTHING,
  query: z.strictObject({ limit: Limit, cursor: SeqCursor.optional() }),
  body: NOTHING,
  answer: pageOf('SealPage', Seal),
  errors: [],
  async run({ query: { limit, cursor } }, { db }) {
    // Days since 1970, so that a cursor is a number here too.
    const number = sql<bigint>`(day - date '1970-01-01')::bigint`
    let seals = db
      .selectFrom('ledger_seals')
      .select(['first_seq', 'last_seq', 'entries', 'sha256', 'sealed_at'])
      .select([sql<string>`day::text`.as('day'), number.as('number')])
      .orderBy('ledger_seals.day', 'desc')
      .limit(limit + 1)
    if (cursor !== undefined) seals = seals.where(number, '<', cursor)
    return toPage(await seals.execute(), limit, {
      item: (row) => ({
        day: row.day,
        firstSeq: row.first_seq.toString(),
        lastSeq: row.last_seq.toString(),
        entries: row.entries.toString(),
        sha256: row.sha256.toString('hex'),
        sealedAt: row.sealed_at.toISOString(),
      }),
      cursor: (row) => row.number.toString(),
    })
  },
})

export const RECONCILIATION_OPERATIONS = [reconcile, listReconciliations, listSeals] as const
