import { randomUUID } from 'node:crypto'
import { sql, type Kysely, type SqlBool } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { FRESH_SESSION_MINUTES, TICKET_SECONDS } from '#libs/admin-contract/resources/sessions.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementChange, implementRead, type Actor } from '../implement.ts'
import { isAfterCursor, toPage } from '../list-page.ts'
import { isOpenAt, selectSessions, toSession, type SessionRow } from '../sessions.ts'
import { createToken, hashSessionToken } from '../tokens.ts'

/** The largest number of open sessions of one credential. */
const MAX_OPEN = 100

const KEEP_MS = 30 * 24 * 60 * 60 * 1000

const openSession = implementChange(
  ADMIN.openSession,
  async ({ body: { ticket: isTicket, userAgent = null } }, { db, actor, adminToken, now }) => {
    if (actor.by.kind !== 'token') {
      throw new AdminError('forbidden', 'A session cannot open another one: this needs the token itself.')
    }
    await deleteOld(db, now)
    const id = randomUUID()
    const token = createToken(isTicket ? 'ticket' : 'session')
    const sha256 = hashSessionToken(token, { credentialId: actor.credentialId, adminToken })
    await db
      .insertInto('admin_sessions')
      .values({
        id,
        credential_id: actor.credentialId,
        role: actor.role,
        user_agent: userAgent,
        sha256: isTicket ? null : sha256,
        ticket_sha256: isTicket ? sha256 : null,
        created_at: now,
        last_used_at: now,
        ended_at: null,
      })
      .execute()
    const audit = { target: id, details: { ticket: isTicket, userAgent } }
    if (isTicket) {
      const expiresAt = new Date(now.getTime() + TICKET_SECONDS * 1_000).toISOString()
      return { answer: { kind: 'ticket' as const, ticket: token, expiresAt }, audit }
    }
    await endSurplus(db, actor.credentialId, now)
    return { answer: { kind: 'session' as const, token, session: await readSession(db, id, now) }, audit }
  },
)

const claimSession = implementChange(
  ADMIN.claimSession,
  async ({ body: { userAgent = null } }, { db, actor, adminToken, now }) => {
    if (actor.by.kind !== 'ticket') {
      throw new AdminError('invalid_token', 'The bearer token of this operation is a ticket.')
    }
    const { id } = actor.by
    const token = createToken('session')
    const claimed = await db
      .updateTable('admin_sessions')
      .set({
        sha256: hashSessionToken(token, { credentialId: actor.credentialId, adminToken }),
        ticket_sha256: null,
        user_agent: userAgent,
        created_at: now,
        last_used_at: now,
      })
      .where('id', '=', id)
      .where('ticket_sha256', 'is not', null)
      .executeTakeFirst()
    if (claimed.numUpdatedRows === 0n) throw new AdminError('invalid_token', 'The ticket is taken.')
    await endSurplus(db, actor.credentialId, now)
    return {
      answer: { kind: 'session' as const, token, session: await readSession(db, id, now) },
      audit: { target: id, details: { userAgent } },
    }
  },
)

const listSessions = implementRead(
  ADMIN.listSessions,
  async ({ query: { open, limit, cursor } }, { db, actor, now }) => {
    let sessions = selectSessions(db)
      .where('s.sha256', 'is not', null)
      .orderBy('s.created_at', 'desc')
      .orderBy('s.id', 'desc')
      .limit(limit + 1)
    if (actor.role !== 'owner') sessions = sessions.where('s.credential_id', '=', actor.credentialId)
    if (open !== undefined)
      sessions = sessions.where(open ? isOpenAt(now) : sql<SqlBool>`not ${isOpenAt(now)}`)
    if (cursor !== undefined) {
      sessions = sessions.where(await isAfterCursor(db, { table: 'admin_sessions', alias: 's' }, cursor))
    }
    return toPage(await sessions.execute(), limit, {
      item: (row) => toSession(row, now),
      cursor: ({ id }) => id,
    })
  },
)

const endSession = implementChange(ADMIN.endSession, async ({ params }, { db, actor, now }) => {
  const id = params.session === 'current' ? ownSession(actor).id : params.session
  const found = await selectSessions(db)
    .where('s.id', '=', id)
    .where('s.sha256', 'is not', null)
    .executeTakeFirst()
  if (found === undefined || (actor.role !== 'owner' && found.credential_id !== actor.credentialId)) {
    throw new AdminError('not_found', `There is no session ${id}.`)
  }
  const ended = await db
    .updateTable('admin_sessions')
    .set({ ended_at: now })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  const answer = await readSession(db, id, now)
  const audit = { target: id, details: { name: answer.name } }
  return { answer, audit: ended.numUpdatedRows === 0n ? null : audit }
})

export const SESSION_OPERATIONS = { openSession, claimSession, listSessions, endSession }

/**
 * Throws an AdminError if the session began more than `FRESH_SESSION_MINUTES` ago, because somebody other than the
 * token's owner may be using an old session.
 */
export function assertFresh({ by }: Actor, now: Date): void {
  if (by.kind !== 'session') return
  const ageMs = now.getTime() - by.session.created_at.getTime()
  if (ageMs < FRESH_SESSION_MINUTES * 60_000) return
  throw new AdminError(
    'stale_session',
    `This needs a session younger than ${FRESH_SESSION_MINUTES} minutes: sign in again.`,
  )
}

function ownSession({ by }: Actor): SessionRow {
  if (by.kind === 'session') return by.session
  throw new AdminError('not_found', 'The request has no session: its token is that of a credential.')
}

async function readSession(db: Kysely<Tables>, id: string, now: Date) {
  return toSession(await selectSessions(db).where('s.id', '=', id).executeTakeFirstOrThrow(), now)
}

/** Deletes old sessions and tickets. */
async function deleteOld(db: Kysely<Tables>, now: Date): Promise<void> {
  await db
    .deleteFrom('admin_sessions')
    .where(({ and, eb, or }) =>
      or([
        eb('created_at', '<', new Date(now.getTime() - KEEP_MS)),
        and([
          eb('ticket_sha256', 'is not', null),
          eb('created_at', '<', new Date(now.getTime() - TICKET_SECONDS * 1_000)),
        ]),
      ]),
    )
    .execute()
}

/** Ends the least recently used sessions of a credential, so that at most `MAX_OPEN` stay open. */
async function endSurplus(db: Kysely<Tables>, credentialId: string | null, now: Date): Promise<void> {
  await sql`
    update admin_sessions set ended_at = ${now} where id in (
      select s.id from admin_sessions s left join admin_credentials c on c.id = s.credential_id
      where s.credential_id is not distinct from ${credentialId}::uuid and ${isOpenAt(now)}
      order by s.last_used_at desc, s.created_at desc, s.id desc offset ${MAX_OPEN})`.execute(db)
}
