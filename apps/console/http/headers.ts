import type { FastifyInstance } from 'fastify'
import { PAGE_HEADERS } from '#libs/pages/page-headers.ts'

/** Sets the headers of every answer. An answer without a `cache-control` header gets `no-store`. */
export function installHeaders(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers(PAGE_HEADERS)
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  })
}
