import { DatabaseError, type ClientConfig, type Pool, type PoolClient } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'
import { listWrongSettings, readSession, type Session } from './session-settings.ts'

// A pooler in transaction mode, such as PgBouncer, gives each transaction any of its connections to PostgreSQL. So
// nothing that belongs to a session works: no settings sent at the start, no LISTEN, no session locks. Named statements
// work only if the pooler keeps the statements of its clients apart, as PgBouncer does if its `max_prepared_statements`
// is above 0.

/** Removes the settings that are sent when a connection begins: a pooler refuses them, or drops them silently. */
export function toPooledConfig(config: ClientConfig): ClientConfig {
  const { statement_timeout: _statement, idle_in_transaction_session_timeout: _idle, ...rest } = config
  return rest
}

/** The settings that the login must give to every connection. */
export type PooledNeeds = {
  /** Default: any. */
  readonly role?: string | undefined
  /** The highest permitted limits. Zero means no limit, and is refused. */
  readonly statementMs: number
  readonly idleMs: number
}

/**
 * Checks that one connection behind a pooler has the role `needs.role`, is within the limits of `needs` and has the
 * settings that every session needs. Also checks that the pooler keeps the named statements of its clients apart. Such
 * a pooler prepares this check's statement under another name, so the statement does not find its own name among
 * PostgreSQL's prepared statements. Returns the session. Throws a ConfigError that says what to change, or an error of
 * PostgreSQL or of the connection.
 */
export async function checkPooled(client: Pool | PoolClient, needs: PooledNeeds): Promise<Session> {
  const session = await readNamed(client)
  const problems = listProblems(session, needs)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `behind the pooler ${problem}`))
  return session
}

async function readNamed(client: Pool | PoolClient): Promise<Session> {
  try {
    return await readSession(client, true)
  } catch (error) {
    // 42P05: the connection already has a statement with the name of this check's statement, prepared by another
    // client. 26000: the connection has no statement with that name, because this client prepared it on another
    // connection.
    const isMixed = error instanceof DatabaseError && (error.code === '42P05' || error.code === '26000')
    if (isMixed) throw new ConfigError([`behind the pooler ${MIXED}`], { cause: error })
    throw error
  }
}

const MIXED =
  'named statements are passed on as they are: PgBouncer 1.21 or later with max_prepared_statements above 0 is needed, or DATABASE_POOLER=none where there is no pooler in transaction mode'

function listProblems(session: Session, { role = session.role, statementMs, idleMs }: PooledNeeds): string[] {
  const { login } = session
  const isWithin = (ms: number, limitMs: number) => ms > 0 && ms <= limitMs
  const limit = (name: string, ms: number, limitMs: number) =>
    isWithin(ms, limitMs)
      ? null
      : `${name} is ${ms} ms, expected 1 to ${limitMs}: alter role ${login} set ${name} = '${limitMs}ms'`
  return [
    session.role === role
      ? null
      : `the login ${login} works as ${session.role}: alter role ${login} set role = ${role}`,
    limit('statement_timeout', session.statement_ms, statementMs),
    limit('idle_in_transaction_session_timeout', session.idle_ms, idleMs),
    ...listWrongSettings(session).map(
      ({ name, found, wanted }) => `${name} is ${found}: alter role ${login} set ${name} = ${quote(wanted)}`,
    ),
    session.keeps_name ? MIXED : null,
  ].filter((problem) => problem !== null)
}

const quote = (value: string) => (/^\w+$/.test(value) ? value : `'${value}'`)
