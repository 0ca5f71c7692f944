import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import { SQL_FOLDER } from './missing-parts.ts'

/** The rights of the service's role on each table and view: `sql/roles.sql` grants them. */
export const TABLE_RIGHTS: Readonly<Record<string, string>> = readGrants(
  readFileSync(new URL('roles.sql', SQL_FOLDER), 'utf8'),
)

/** The functions of `sql/functions/`, where each file has the name of its function, and the function of `sql/tables/`. */
const FUNCTIONS = [
  ...readdirSync(new URL('functions/', SQL_FOLDER)).map((name) => name.replace('.sql', '')),
  'made_at',
]

const ALL = { tables: TABLE_RIGHTS, functions: FUNCTIONS }

/** The right to read which parts of the schema the database has. `checkSchema` needs no other right. */
export const SCHEMA_RIGHTS: typeof ALL = { tables: { schema_parts: 'select' }, functions: [] }

/** Returns the rights of each table, such as `select insert`. */
function readGrants(roles: string): Record<string, string> {
  const grants = roles.matchAll(/^grant ([a-z, ]+?)\s+on ([a-z_,\s]+?)\s+to millrace_service;/gm)
  return Object.fromEntries(
    [...grants].flatMap(([, rights = '', tables = '']) =>
      tables.split(/,\s*/).map((table) => [table, rights.replaceAll(',', '')]),
    ),
  )
}

/**
 * Returns the rights that the role of the connection lacks, in the words of `grant`, for example `insert on usage`.
 * Rights on a table or a function that does not exist are left out, because `checkSchema` and the migration report
 * missing parts of the schema.
 */
export async function listMissingRights(
  db: Pool | PoolClient,
  of: { readonly tables: typeof TABLE_RIGHTS; readonly functions: readonly string[] } = ALL,
): Promise<string[]> {
  const rights = Object.entries(of.tables).flatMap(([table, words]) =>
    words.split(' ').map((right) => ({ table, right })),
  )
  const { rows } = await db.query<{ missing: string }>({
    name: 'missing_rights',
    text: `select 'usage on schema public' as missing where not has_schema_privilege('public', 'usage')
      union all
      select format('%s on %s', r.privilege, c.relname)
      from unnest($1::text[], $2::text[]) with ordinality as r (name, privilege, ord)
      join pg_class c on c.relname = r.name and c.relnamespace = 'public'::regnamespace
      where not has_table_privilege(c.oid, r.privilege)
      union all
      select format('execute on function %s', p.proname)
      from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.proname = any ($3::text[])
        and not has_function_privilege(p.oid, 'execute')`,
    values: [rights.map(({ table }) => table), rights.map(({ right }) => right), of.functions],
  })
  return rows.map(({ missing }) => missing)
}

const MOST_NAMED = 10

/** Returns the reason for `/readyz` and the log; null if no right is missing. */
export function describeMissing(missing: readonly string[]): string | null {
  if (missing.length === 0) return null
  const others = missing.length - MOST_NAMED
  const named = missing.slice(0, MOST_NAMED).join(', ')
  return `the database role lacks ${named}${others > 0 ? ` and ${others} other rights` : ''}`
}

const LOOK_EVERY_MS = 1_000
const LOG_EVERY_MS = 10_000

/**
 * Resolves once the role of the pool's connections has the rights `of`; by default these are all rights of the service.
 * While rights are missing, the function calls `onWait` with the reason every second, and logs the missing rights every
 * 10 s. Throws the errors of the database.
 */
export async function awaitServiceRights(options: {
  pool: Pool
  of?: typeof ALL
  log: Logger
  onWait: (reason: string) => void
}): Promise<void> {
  const { pool, of = ALL, log, onWait } = options
  const report = reportMissingRights(log)
  for (;;) {
    const missing = await listMissingRights(pool, of)
    report(missing)
    const reason = describeMissing(missing)
    if (reason === null) return
    onWait(reason)
    await sleep(LOOK_EVERY_MS)
  }
}

/** Returns a function that logs missing rights at most every 10 s, and once that they are there again. */
function reportMissingRights(log: Logger): (missing: readonly string[]) => void {
  let loggedMs = -Infinity
  return (missing) => {
    if (missing.length === 0) {
      if (loggedMs > -Infinity) log.info('the database role has all rights again')
      loggedMs = -Infinity
    } else if (performance.now() - loggedMs >= LOG_EVERY_MS) {
      log.error({ missing }, 'the database role lacks rights: grant it those of apps/billing/sql/roles.sql')
      loggedMs = performance.now()
    }
  }
}
