import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { ensurePgBouncer, type PgBouncerProgram } from '../../../support/ensure-pgbouncer.ts'
import { startPgBouncer, type TestPgBouncer } from '../../../support/pgbouncer.ts'

/** The settings that docs/operations/billing.md asks for in a login behind a pooler. */
const SETTINGS = {
  role: SERVICE_ROLE,
  statement_timeout: '5s',
  idle_in_transaction_session_timeout: '5s',
  jit: 'off',
  timezone: 'UTC',
  search_path: 'public',
  row_security: 'off',
}

export type PooledLogin = {
  readonly name: string
  readonly password: string
  /** Returns the URL of a database for this login. */
  url(database: string): string
  drop(): Promise<void>
}

/**
 * Creates a login of the service for connections behind a pooler. A database of the server must be migrated already,
 * because the migration creates the role. A setting that is null is left out.
 */
export async function createPooledLogin(
  admin: Pool,
  settings: Readonly<Record<string, string | null>> = {},
): Promise<PooledLogin> {
  const [name, password] = [`pooled_${randomUUID().replaceAll('-', '')}`, 'test']
  await admin.query(`create role ${name} login password '${password}' in role ${SERVICE_ROLE}`)
  for (const [setting, value] of Object.entries({ ...SETTINGS, ...settings })) {
    if (value !== null) await admin.query(`alter role ${name} set ${setting} = '${value}'`)
  }
  return {
    name,
    password,
    url(database) {
      const url = new URL(database)
      ;[url.username, url.password] = [name, password]
      return url.href
    },
    drop: async () => void (await admin.query(`drop role ${name}`)),
  }
}

/** Returns PgBouncer; null if there is none, after a line with the reason. Its tests are then reported as skipped. */
export async function findPgBouncer(): Promise<PgBouncerProgram | null> {
  const found = await ensurePgBouncer()
  if (!('missing' in found)) return found
  console.error(`Tests behind PgBouncer are skipped: ${found.missing}`)
  return null
}

export type PooledServer = { login: PooledLogin; pooler: TestPgBouncer }

/** Starts a PgBouncer in front of the server of `url`, with one login of the service. */
export async function startPooledServer(
  admin: Pool,
  options: { url: string; program: PgBouncerProgram; settings?: Readonly<Record<string, string>> },
): Promise<PooledServer> {
  const { url: postgresUrl, program, settings = {} } = options
  const login = await createPooledLogin(admin)
  const logins = { [login.name]: login.password }
  return { login, pooler: await startPgBouncer({ program, postgresUrl, logins, settings }) }
}
