import { DatabaseError, type ClientConfig, type Pool, type PoolClient } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'

// A pooler in transaction mode, such as PgBouncer, gives each transaction any of its connections to PostgreSQL. So
// nothing that belongs to a session works: no settings sent at the start, no LISTEN, no session locks. Named statements
// work only if the pooler keeps the statements of its clients apart, as PgBouncer does with max_prepared_statements >
// 0.

/** Removes the settings that are sent when a connection begins: a pooler refuses them, or drops them silently. */
export function toPooledConfig(config: ClientConfig): ClientConfig {
  const { statement_timeout: _statement, idle_in_transaction_session_timeout: _idle, ...rest } = config
  return rest
}

/** The settings that a connection must have by its login. */
export type PooledNeeds = {
  /** Default: any. */
  readonly role?: string | undefined
  /** The highest permitted limits. Zero means no limit, and is refused. */
  readonly statementMs: number
  readonly idleMs: number
}

type Found = {
  readonly login: string
  readonly role: string
  readonly statement_ms: number
  readonly idle_ms: number
  readonly jit: string
  readonly keeps_name: boolean
}

const NAME = 'check_connection'

/**
 * This named statement looks for its own name among the prepared statements. A pooler that keeps the statements of its
 * clients apart gives the statement another name.
 */
const CHECK = `select session_user::text as login, current_user::text as role,
    (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::int as statement_ms,
    (extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000)::int as idle_ms,
    current_setting('jit') as jit,
    exists (select from pg_prepared_statements where name = '${NAME}') as keeps_name`

/**
 * Checks that one connection behind a pooler works as the role, has the limits, compiles no statement, and keeps named
 * statements apart. Throws a ConfigError that says what to change, or the error of PostgreSQL or its connection.
 */
export async function checkPooled(client: Pool | PoolClient, needs: PooledNeeds): Promise<void> {
  const problems = await findProblems(client, needs)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `behind the pooler ${problem}`))
}

async function findProblems(client: Pool | PoolClient, needs: PooledNeeds): Promise<string[]> {
  try {
    const { rows } = await client.query<Found>({ name: NAME, text: CHECK })
    return rows.flatMap((found) => listProblems(found, needs))
  } catch (error) {
    // The codes mean that another client's statement has this name, or that there is none although this client has
    // prepared it.
    const isMixed = error instanceof DatabaseError && (error.code === '42P05' || error.code === '26000')
    if (isMixed) return [MIXED]
    throw error
  }
}

const MIXED =
  'named statements are passed on as they are: PgBouncer 1.21 or later with max_prepared_statements above 0 is needed, or DATABASE_POOLER=none where there is no pooler in transaction mode'

function listProblems(found: Found, { role = found.role, statementMs, idleMs }: PooledNeeds): string[] {
  const { login } = found
  const isWithin = (ms: number, limitMs: number) => ms > 0 && ms <= limitMs
  return [
    found.role === role
      ? null
      : `the login ${login} works as ${found.role}: alter role ${login} set role = ${role}`,
    isWithin(found.statement_ms, statementMs)
      ? null
      : `statement_timeout is ${found.statement_ms} ms, expected 1 to ${statementMs}: alter role ${login} set statement_timeout = '${statementMs}ms'`,
    isWithin(found.idle_ms, idleMs)
      ? null
      : `idle_in_transaction_session_timeout is ${found.idle_ms} ms, expected 1 to ${idleMs}: alter role ${login} set idle_in_transaction_session_timeout = '${idleMs}ms'`,
    found.jit === 'off' ? null : `jit is ${found.jit}: alter role ${login} set jit = off`,
    found.keeps_name ? MIXED : null,
  ].filter((problem) => problem !== null)
}
