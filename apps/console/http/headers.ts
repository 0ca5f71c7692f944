import type { FastifyInstance } from 'fastify'
import { PAGE_HEADERS } from '#libs/pages/page-headers.ts'

/** Sets the headers of every answer. What names no time to keep it is not kept at all. */
export function installHeaders(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers(PAGE_HEADERS)
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  })
}
