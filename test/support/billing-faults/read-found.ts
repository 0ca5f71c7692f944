import { Pool } from 'pg'
import { connectionConfig } from '#apps/billing/database/open-pool.ts'
import type { Found } from './truth.ts'

const LIMIT_MS = 300_000

/** Reads the final state of the database. */
export async function readFound(databaseUrl: string) {
  const pool = new Pool({
    ...connectionConfig(databaseUrl),
    statement_timeout: LIMIT_MS,
    query_timeout: LIMIT_MS,
  })
  // The server may end a connection while the pool closes it; this is no failure.
  pool.on('error', () => undefined)
  try {
    const reservations = await pool.query<Found>(
      `select r.id, r.account_id as "accountId", r.state, r.amount as "amountNano", u.charged as "chargedNano",
         u.late, count(l.seq)::integer as charges
       from reservations r left join usage u on u.reservation_id = r.id
         left join ledger l on l.ref = r.id and l.kind = 'charge'
       group by r.id, u.reservation_id`,
    )
    const held = await pool.query<{ held: bigint }>(
      'select coalesce(sum(held), 0)::bigint as held from accounts',
    )
    const alarms = await pool.query<{ kind: string }>(
      'select distinct kind from settlement_alarms order by kind',
    )
    const reconciliation = await pool.query<{ name: string; count: bigint }>(
      'select * from reconcile(whole => true)',
    )
    return {
      reservations: new Map(reservations.rows.map((row) => [row.id, row])),
      held: held.rows[0]?.held,
      alarms: alarms.rows.map(({ kind }) => kind),
      reconciliation: new Map(reconciliation.rows.map(({ name, count }) => [name, count])),
    }
  } finally {
    await pool.end()
  }
}
