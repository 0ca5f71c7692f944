import { timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import { TICKET_SECONDS } from '#libs/admin-contract/resources/sessions.ts'
import type { Tables } from '../database/tables.ts'
import { AdminError } from '../resources/admin-error.ts'
import type { Actor } from './implement.ts'
import { BOOTSTRAP_NAME, isOpenAt, selectSessions, touchSession, type SessionRow } from './sessions.ts'
import { hashSessionToken, hashToken, TOKEN_PREFIXES } from './tokens.ts'

const WRONG_TOKEN = 'The token is wrong or revoked.'
const WRONG_SESSION = 'The session has ended, or there is none with this token.'
const WRONG_TICKET = 'The ticket is wrong, taken or too old.'

export type SignIn = (authorization: string | undefined) => Promise<Actor>

/**
 * Returns a function that returns the actor of an `Authorization` header. The configured token gives the role `owner`
 * and is checked without the database. Every other token belongs to a credential, a session or a ticket, which is found
 * in the database by the hash of the token. The returned function throws an AdminError for a header without a valid
 * token.
 */
export function createSignIn(deps: { db: Kysely<Tables>; adminToken: string; nowMs: () => number }): SignIn {
  const { db, adminToken, nowMs } = deps
  const bootstrap = hashToken(adminToken)

  async function signInCredential(sha256: Buffer): Promise<Actor> {
    const credential = await db
      .selectFrom('admin_credentials')
      .select(['id', 'name', 'role', 'sha256'])
      .where('sha256', '=', sha256)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    // The index lookup does not take constant time, but it compares bytes of the hash, which a caller cannot choose.
    if (credential === undefined || !timingSafeEqual(credential.sha256, sha256)) {
      throw new AdminError('invalid_token', WRONG_TOKEN)
    }
    return {
      name: credential.name,
      role: credential.role,
      credentialId: credential.id,
      by: { kind: 'token' },
    }
  }

  /**
   * Returns the two hashes that the token of a session may have: one if a credential opened the session, the other if
   * the configured token opened it.
   */
  const hashesOf = (token: string) =>
    [
      { credentialId: '', adminToken },
      { credentialId: null, adminToken },
    ].map((owner) => hashSessionToken(token, owner))

  /** Returns true if the stored hash is the hash of this token with the row's owner. */
  function isOf(row: SessionRow, stored: Buffer | null, token: string): boolean {
    const expected = hashSessionToken(token, { credentialId: row.credential_id, adminToken })
    return stored !== null && timingSafeEqual(stored, expected)
  }

  const toActor = (row: SessionRow, by: Actor['by']): Actor => ({
    name: row.name ?? BOOTSTRAP_NAME,
    role: row.role,
    credentialId: row.credential_id,
    by,
  })

  async function signInSession(token: string): Promise<Actor> {
    const now = new Date(nowMs())
    const session = await selectSessions(db)
      .where('s.sha256', 'in', hashesOf(token))
      .where(isOpenAt(now))
      .executeTakeFirst()
    if (session === undefined || !isOf(session, session.sha256, token)) {
      throw new AdminError('invalid_token', WRONG_SESSION)
    }
    await touchSession(db, session, now)
    return toActor(session, { kind: 'session', session })
  }

  async function signInTicket(token: string): Promise<Actor> {
    const ticket = await selectSessions(db)
      .where('s.ticket_sha256', 'in', hashesOf(token))
      .where('s.created_at', '>', new Date(nowMs() - TICKET_SECONDS * 1_000))
      .where('c.revoked_at', 'is', null)
      .executeTakeFirst()
    if (ticket === undefined || !isOf(ticket, ticket.ticket_sha256, token)) {
      throw new AdminError('invalid_token', WRONG_TICKET)
    }
    return toActor(ticket, { kind: 'ticket', id: ticket.id })
  }

  return async (authorization) => {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) throw new AdminError('invalid_token', 'A bearer token is required.')
    const sha256 = hashToken(token)
    if (timingSafeEqual(sha256, bootstrap)) {
      return { name: BOOTSTRAP_NAME, role: 'owner', credentialId: null, by: { kind: 'token' } }
    }
    if (token.startsWith(TOKEN_PREFIXES.credential)) return await signInCredential(sha256)
    if (token.startsWith(TOKEN_PREFIXES.session)) return await signInSession(token)
    if (token.startsWith(TOKEN_PREFIXES.ticket)) return await signInTicket(token)
    throw new AdminError('invalid_token', WRONG_TOKEN)
  }
}
