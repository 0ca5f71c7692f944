import type { RouteHandlerMethod } from 'fastify'
import { describeInterface } from './describe-interface.ts'

let text: string | undefined

/** `GET /openapi.json`: generated at the first request, then cached. It requires no API key. */
export const serveDescription: RouteHandlerMethod = async (_request, reply) => {
  text ??= JSON.stringify(describeInterface())
  return reply.type('application/json; charset=utf-8').send(text)
}
