import type { Pool, PoolClient } from 'pg'

/**
 * The settings that every session of billing has, whatever defaults the server, the database or the login has. Each of
 * these settings can change what a statement of billing returns or stores, or which changes by other transactions the
 * statement sees. The names are PostgreSQL's, and the values are written as PostgreSQL shows them.
 *
 * Other settings are left to the operator, and docs/operations/billing.md lists them: those settings change only the
 * speed of a statement, what PostgreSQL logs, where it stores tables, or whether a session may write.
 */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  // These settings determine the texts of values, as `pg` and billing's statements read and write them.
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  timezone_abbreviations: 'Default',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  quote_all_identifiers: 'off',
  // These settings can change the meaning of a statement.
  search_path: 'public',
  transform_null_equals: 'off',
  'plpgsql.extra_errors': 'none',
  // With this setting, a policy that would hide rows causes an error. Otherwise a sum would be too small, and nothing
  // would show it.
  row_security: 'off',
  // The money functions lock rows and then read them by a new statement, which must see what was committed meanwhile.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // `lock_timeout`: a wait for a lock needs no limit of its own, because `statement_timeout` bounds it.
  // `exit_on_error`: an error that billing expects must not end the session.
  lock_timeout: '0',
  exit_on_error: 'off',
  plan_cache_mode: 'auto',
  // With `jit`, PostgreSQL compiles a plan with a high estimated cost before it runs the plan. Billing's statements
  // read few rows of tables that grow without end, and the estimates grow with the tables. Measured for one plan: 300
  // ms to compile it, and 10 ms to run it.
  jit: 'off',
}

/** Returns the settings, and the role if one is given, as command-line options of a PostgreSQL session. */
export function toSessionOptions(role: string | undefined): string {
  return Object.entries({ ...SESSION_SETTINGS, ...(role !== undefined && { role }) })
    .map(([name, value]) => `-c ${name}=${value.replaceAll(/[\\ ]/g, String.raw`\$&`)}`)
    .join(' ')
}

/** A session's login, role, limits and settings. */
export type Session = {
  readonly login: string
  readonly role: string
  readonly statement_ms: number
  readonly idle_ms: number
  /** The values of `SESSION_SETTINGS` and `CHECKED_SETTINGS`; null: this PostgreSQL does not have the setting. */
  readonly settings: Readonly<Record<string, string | null>>
  /** True on a server that is a standby. */
  readonly is_standby: boolean
  readonly is_read_only: boolean
  readonly keeps_name: boolean
}

/**
 * Settings that billing checks but does not give at a session's start:
 * - `session_replication_role`: not every login may set it.
 * - `synchronous_commit`: the operator chooses its value, but `off` is wrong.
 * - `transaction_timeout`: PostgreSQL has it only from version 17 on.
 */
const CHECKED_SETTINGS = ['session_replication_role', 'synchronous_commit', 'transaction_timeout'] as const

const NAMES = [...Object.keys(SESSION_SETTINGS), ...CHECKED_SETTINGS]

/** The statement looks for its own name among the prepared statements. */
const STATEMENT_NAME = 'check_connection'

const STATEMENT = `select session_user::text as login, current_user::text as role,
    (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::int as statement_ms,
    (extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000)::int as idle_ms,
    (select json_object_agg(name, current_setting(name, true)) from unnest($1::text[]) as name) as settings,
    pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
    exists (select from pg_prepared_statements where name = '${STATEMENT_NAME}') as keeps_name`

/** `isNamed`: the statement is prepared under its name. */
export async function readSession(client: Pool | PoolClient, isNamed: boolean): Promise<Session> {
  const statement = { text: STATEMENT, values: [NAMES] }
  const { rows } = await client.query<Session>(isNamed ? { ...statement, name: STATEMENT_NAME } : statement)
  const [session] = rows
  if (session === undefined) throw new Error('PostgreSQL did not describe its session')
  return session
}

/** A setting of a session that billing cannot work with, and the value that it needs. */
export type WrongSetting = { readonly name: string; readonly found: string; readonly wanted: string }

/**
 * Returns the wrong settings of a session. `synchronous_commit` is wrong only if it is `off`: then a crash of the
 * server could lose a commit that it has confirmed. With every other value a commit is at least on the disk of the
 * server.
 */
export function listWrongSettings({ settings }: Session): WrongSetting[] {
  const wrong = Object.entries(SESSION_SETTINGS).flatMap(([name, wanted]) => {
    // PostgreSQL shows the settings of a language only after they were set or the language was used.
    const found = settings[name] ?? wanted
    return found === wanted ? [] : [{ name, found, wanted }]
  })
  const triggers = settings['session_replication_role']
  const timeout = settings['transaction_timeout'] ?? '0'
  return [
    ...wrong,
    ...(triggers === 'origin'
      ? []
      : [{ name: 'session_replication_role', found: String(triggers), wanted: 'origin' }]),
    ...(settings['synchronous_commit'] === 'off'
      ? [{ name: 'synchronous_commit', found: 'off', wanted: 'on' }]
      : []),
    ...(timeout === '0' ? [] : [{ name: 'transaction_timeout', found: timeout, wanted: '0' }]),
  ]
}

/** Returns why the session cannot write; null: it can. */
export function whyReadOnly({ is_standby, is_read_only }: Session): string | null {
  if (is_standby) return 'the database is a standby and accepts no changes'
  return is_read_only ? 'the database is read-only' : null
}

/** The settings of `CHECKED_SETTINGS` that every login may set in its session. */
const CORRECTABLE: readonly string[] = ['synchronous_commit', 'transaction_timeout']

/** Corrects the settings that can be corrected in the session, and returns the settings that cannot. */
export async function correctSettings(
  client: PoolClient,
  wrong: readonly WrongSetting[],
): Promise<WrongSetting[]> {
  for (const { name, wanted } of wrong.filter(({ name }) => CORRECTABLE.includes(name))) {
    await client.query('select set_config($1, $2, false)', [name, wanted])
  }
  return wrong.filter(({ name }) => !CORRECTABLE.includes(name))
}
