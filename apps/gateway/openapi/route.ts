import type { RouteHandlerMethod } from 'fastify'
import { describeInterface } from './describe-interface.ts'

let text: string | undefined

/** `GET /openapi.json`: made at the first request, then kept. Public: it needs no key. */
export const serveDescription: RouteHandlerMethod = async (_request, reply) => {
  text ??= JSON.stringify(describeInterface())
  return reply.type('application/json; charset=utf-8').send(text)
}
