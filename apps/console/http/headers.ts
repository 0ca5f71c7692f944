import type { FastifyInstance } from 'fastify'

/** Nothing comes from another host, no script or style stands in the document, and only lit-html makes HTML of text. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types lit-html',
].join('; ')

const HEADERS = {
  'content-security-policy': CONTENT_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const

/** Sets the headers of every answer. What names no time to keep it is not kept at all. */
export function installHeaders(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers(HEADERS)
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  })
}
