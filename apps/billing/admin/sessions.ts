import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely'
import { SESSION_HOURS, SESSION_IDLE_MINUTES, type Session } from '#libs/admin-contract/resources/sessions.ts'
import type { Role } from '#libs/admin-contract/roles.ts'
import { ignoreReadOnly } from '../database/database-errors.ts'
import type { Tables } from '../database/tables.ts'

/** The name of the configured token. No credential may have it. */
export const BOOTSTRAP_NAME = 'bootstrap'

const MINUTE_MS = 60_000

const LIFE_MS = SESSION_HOURS * 60 * MINUTE_MS
const IDLE_MS = SESSION_IDLE_MINUTES * MINUTE_MS

/** A row of `admin_sessions`, with the name of its credential. */
export type SessionRow = {
  readonly id: string
  readonly credential_id: string | null
  readonly role: Role
  readonly user_agent: string | null
  readonly sha256: Buffer | null
  readonly ticket_sha256: Buffer | null
  readonly created_at: Date
  readonly last_used_at: Date
  readonly ended_at: Date | null
  readonly name: string | null
  readonly revoked_at: Date | null
}

/** Selects sessions as `s`, each with its credential as `c`. */
export function selectSessions(db: Kysely<Tables>) {
  return db
    .selectFrom('admin_sessions as s')
    .leftJoin('admin_credentials as c', 'c.id', 's.credential_id')
    .selectAll('s')
    .select(['c.name', 'c.revoked_at'])
}

/** Returns the condition that a row of `selectSessions` is an open session. */
export function isOpenAt(now: Date): RawBuilder<SqlBool> {
  return sql<SqlBool>`(s.sha256 is not null and s.ended_at is null and c.revoked_at is null
    and s.created_at > ${new Date(now.getTime() - LIFE_MS)}
    and s.last_used_at > ${new Date(now.getTime() - IDLE_MS)})`
}

/**
 * Records at most once a minute that the session was used. If the database is read-only, nothing is recorded, and reads
 * are still served.
 */
export async function touchSession(db: Kysely<Tables>, session: SessionRow, now: Date): Promise<void> {
  if (now.getTime() - session.last_used_at.getTime() < MINUTE_MS) return
  await db
    .updateTable('admin_sessions')
    .set({ last_used_at: now })
    .where('id', '=', session.id)
    .where('last_used_at', '<', now)
    .execute()
    .catch(ignoreReadOnly)
}

export function toSession(row: SessionRow, now: Date): Session {
  const expiresMs = row.created_at.getTime() + LIFE_MS
  return {
    id: row.id,
    name: row.name ?? BOOTSTRAP_NAME,
    role: row.role,
    userAgent: row.user_agent,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    expiresAt: new Date(expiresMs).toISOString(),
    endedAt: (row.ended_at ?? row.revoked_at)?.toISOString() ?? null,
    open:
      row.ended_at === null &&
      row.revoked_at === null &&
      now.getTime() < Math.min(expiresMs, row.last_used_at.getTime() + IDLE_MS),
  }
}
