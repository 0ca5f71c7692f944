import { fastifyCors } from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/**
 * The origins whose pages may call the gateway, or `*` alone for all origins. If the list is empty, no page may call
 * it, and no answer has a CORS header.
 */
export type AllowedOrigins = readonly string[]

/**
 * Lets pages of the allowed origins call the interface from a browser: answers preflight requests, and sets the CORS
 * headers on every other answer, errors included. Only the answer to a path that is malformed passes through no hook
 * and has no such header. Credentials in the sense of CORS, which are cookies, are never allowed: a page sends its key
 * itself. A preflight answer allows the header names that the browser asked for, because clients add their own.
 */
export function installCors(app: FastifyInstance, origins: AllowedOrigins): void {
  if (origins.length === 0) return
  const options = {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_S,
    strictPreflight: false,
  }
  // A registered plugin would add its hook after the hooks of `app.ts`, and refusals of these would lack the headers.
  fastifyCors(app, options, () => {})
}

/** Response headers that a page may read, besides the few that every page may read. */
const EXPOSED = [
  'x-request-id',
  'x-client-request-id',
  'retry-after',
  'preference-applied',
  'x-responses-events',
]

/** How long a browser may keep the answer to a preflight request. Chrome keeps no such answer for longer. */
const MAX_AGE_S = 7_200
