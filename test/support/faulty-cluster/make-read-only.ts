import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

/**
 * Makes new sessions of the database `url` read-only for `ms`. Sessions that begin within this time stay read-only
 * until they end. Billing's earlier sessions end at once, as in a failover.
 */
export async function makeReadOnly(url: string, ms: number): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  await ask(url, [
    `alter database ${name} set default_transaction_read_only = on`,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'millrace-billing'`,
  ])
  await sleep(ms)
  await ask(url, [`alter database ${name} reset default_transaction_read_only`])
}

/** Runs the statements in a session that may write, whatever the default is. */
async function ask(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url, options: '-c default_transaction_read_only=off' })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
