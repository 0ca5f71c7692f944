import type { FastifyReply, FastifyRequest } from 'fastify'

/** Billing's lifetime of a session. */
const MAX_AGE_S = 12 * 60 * 60

export type SessionCookie = {
  read(request: FastifyRequest): string | undefined
  set(reply: FastifyReply, token: string): void
  clear(reply: FastifyReply): void
}

/**
 * Reads and writes the cookie with a session's token. Browsers send it only to this origin, and scripts cannot read it.
 * On plain HTTP (loopback only) the cookie is not `Secure`, because Safari drops `Secure` cookies on plain HTTP. The
 * prefix `__Host-` requires `Secure`, so on plain HTTP the cookie's name does not have this prefix.
 */
export function createSessionCookie(origin: URL): SessionCookie {
  const isSecure = origin.protocol === 'https:'
  const name = isSecure ? '__Host-mr' : 'mr'
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  return {
    read(request) {
      const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
      const found = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
      return found !== undefined && /^[\w-]+$/.test(found) ? found : undefined
    },
    set(reply, token) {
      reply.header('set-cookie', `${name}=${token}; Max-Age=${MAX_AGE_S}; ${attributes}`)
    },
    clear(reply) {
      reply.header('set-cookie', `${name}=; Max-Age=0; ${attributes}`)
    },
  }
}
