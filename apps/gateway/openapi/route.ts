import type { RouteHandlerMethod } from 'fastify'
import { describeInterface } from './describe-interface.ts'

let text: string | undefined

/** Serves `GET /openapi.json`, which needs no API key. The document is generated at the first request, then cached. */
export const serveDescription: RouteHandlerMethod = async (_request, reply) => {
  text ??= JSON.stringify(describeInterface())
  return reply.type('application/json; charset=utf-8').send(text)
}
