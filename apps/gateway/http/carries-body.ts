import type { FastifyRequest } from 'fastify'

/** Returns true if a request announces a body that is not empty. */
export function carriesBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
}
