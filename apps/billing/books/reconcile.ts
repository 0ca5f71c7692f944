import type { Pool, PoolClient, QueryConfig } from 'pg'
import { inTransaction } from '../database/open-pool.ts'

/** The name of a question (a rule that the books must obey), and the number of rows that contradict the rule. */
export type ReconciliationCount = { readonly question: string; readonly rows: number }

/**
 * Each question in `sql/functions/reconcile.sql` is a rule that the books must obey. This function returns, for each
 * question, the number of rows that contradict the rule. If `whole` is true, the ledger is checked from its first entry
 * on; otherwise from the newest seal on.
 */
export type Reconcile = (whole: boolean) => Promise<ReconciliationCount[]>

/**
 * The time limit of each statement. It is far above the limit of other statements, because a reconciliation may read
 * years of entries.
 */
const LIMIT_MS = 10 * 60_000

export function createReconcile(pool: Pool): Reconcile {
  return (whole) =>
    inTransaction(pool, async (client) => {
      await allowLongStatements(client)
      return await countContradictions(client, whole)
    })
}

/** Raises the limit of the client's statements until the end of its transaction. */
export async function allowLongStatements(client: PoolClient): Promise<void> {
  await client.query("select set_config('statement_timeout', $1, true)", [`${LIMIT_MS}ms`])
}

export async function countContradictions(
  client: PoolClient,
  whole: boolean,
): Promise<ReconciliationCount[]> {
  const { rows } = await client.query<{ name: string; count: bigint }>(
    toLongQuery('select name, count from reconcile(whole => $1) order by name', [whole]),
  )
  return rows.map(({ name, count }) => ({ question: name, rows: Number(count) }))
}

/**
 * Raises the client's own time limit for this query. The client applies this limit also when the server is unreachable.
 */
export function toLongQuery(text: string, values: unknown[]): QueryConfig {
  const query: QueryConfig & { query_timeout: number } = { text, values, query_timeout: LIMIT_MS + 1_000 }
  return query
}
