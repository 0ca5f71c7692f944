import { createHash, createHmac, randomBytes } from 'node:crypto'

/** The prefixes of tokens, by which secret scanners find them. */
export const TOKEN_PREFIXES = {
  credential: 'mr_admin_',
  session: 'mr_session_',
  ticket: 'mr_ticket_',
} as const

/** Returns a new token with 256 random bits. The token is shown once; only its hash is stored. */
export function createToken(kind: keyof typeof TOKEN_PREFIXES): string {
  return TOKEN_PREFIXES[kind] + randomBytes(32).toString('base64url')
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * Returns the hash of a session's token or ticket. If there is no `credentialId`, the session was opened with the token
 * of the configuration, `adminToken`. The session's token is then hashed together with `adminToken`. So the session
 * ends when the configuration has another token, and nothing in the database helps to guess `adminToken`.
 */
export function hashSessionToken(token: string, owner: { credentialId: string | null; adminToken: string }) {
  return owner.credentialId === null
    ? createHmac('sha256', owner.adminToken).update(token).digest()
    : hashToken(token)
}
