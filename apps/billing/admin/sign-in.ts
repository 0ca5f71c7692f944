import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { AdminError } from './admin-error.ts'
import type { Actor } from './implement.ts'

/** Every token begins with it, so that secret scanners find tokens. */
const TOKEN_PREFIX = 'mr_admin_'

/** The actor's name for the configured token. No credential may have it. */
export const BOOTSTRAP_NAME = 'bootstrap'

const WRONG_TOKEN = 'The token is wrong or revoked.'

export type SignIn = (authorization: string | undefined) => Promise<Actor>

/**
 * Returns the actor of an `Authorization` header. The configured token belongs to an owner, and needs no database; all
 * other tokens are those of credentials, found by their hash. Throws an AdminError for any other header.
 */
export function createSignIn({ db, adminToken }: { db: Kysely<Tables>; adminToken: string }): SignIn {
  const bootstrap = hashToken(adminToken)
  return async (authorization) => {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) throw new AdminError('invalid_token', 'A bearer token is required.')
    const sha256 = hashToken(token)
    if (timingSafeEqual(sha256, bootstrap)) return { name: BOOTSTRAP_NAME, role: 'owner' }
    if (!token.startsWith(TOKEN_PREFIX)) throw new AdminError('invalid_token', WRONG_TOKEN)
    const credential = await db
      .selectFrom('admin_credentials')
      .select(['name', 'role', 'sha256'])
      .where('sha256', '=', sha256)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    // The index lookup does not take constant time, but it compares bytes of the hash, which a caller cannot choose.
    if (credential === undefined || !timingSafeEqual(credential.sha256, sha256)) {
      throw new AdminError('invalid_token', WRONG_TOKEN)
    }
    return { name: credential.name, role: credential.role }
  }
}

/** A new token with 256 random bits. It is shown once and stored as its hash. */
export function createToken(): string {
  return TOKEN_PREFIX + randomBytes(32).toString('base64url')
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
