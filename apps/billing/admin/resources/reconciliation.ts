import { sql, type Selectable } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Counts } from '#libs/admin-contract/resources/reconciliation.ts'
import type { Tables } from '../../database/tables.ts'
import { implementRead } from '../implement.ts'
import { toPage, toSeq } from '../list-page.ts'

const agree = (counts: Counts) => counts.every(({ rows }) => rows === 0)

const reconcile = implementRead(ADMIN.reconcile, async ({ query: { whole = false } }, context) => {
  const counts = await context.reconcile(whole)
  return { whole, agrees: agree(counts), counts }
})

const listReconciliations = implementRead(
  ADMIN.listReconciliations,
  async ({ query: { limit, cursor } }, { db }) => {
    let runs = db
      .selectFrom('reconciliation_runs')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(limit + 1)
    if (cursor !== undefined) runs = runs.where('seq', '<', toSeq(cursor))
    return toPage(await runs.execute(), limit, {
      item: toReconciliationRun,
      cursor: ({ seq }) => seq.toString(),
    })
  },
)

const listSeals = implementRead(ADMIN.listSeals, async ({ query: { limit, cursor } }, { db }) => {
  // The day is converted to days since 1970, so that this cursor is a number too.
  const number = sql<bigint>`(day - date '1970-01-01')::bigint`
  let seals = db
    .selectFrom('ledger_seals')
    .select(['first_seq', 'last_seq', 'entries', 'sha256', 'sealed_at'])
    .select([sql<string>`day::text`.as('day'), number.as('number')])
    .orderBy('ledger_seals.day', 'desc')
    .limit(limit + 1)
  if (cursor !== undefined) seals = seals.where(number, '<', toSeq(cursor))
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
})

export const RECONCILIATION_OPERATIONS = { reconcile, listReconciliations, listSeals }

export function toReconciliationRun({ at, counts }: Selectable<Tables['reconciliation_runs']>) {
  return { at: at.toISOString(), agrees: agree(counts), counts }
}
