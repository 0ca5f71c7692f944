import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import { shorten } from './shorten.ts'

/** Refuses unknown paths and wrong methods, before the body is read. */
export function refuseUnknownOperations(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return
    const meant = findMeant(app, request)
    const advice = meant === null ? '' : ` Did you mean ${shorten(meant)}?`
    throw new ApiError(
      'unknown_operation',
      `There is no operation ${request.method} ${shorten(request.url)}.${advice}`,
    )
  })
}

/**
 * Returns the path of the operation that the caller probably means; null if there is none. A client's base URL may lack
 * `/v1`, or may have `/v1` although the client adds it.
 */
function findMeant(app: FastifyInstance, { method, url }: FastifyRequest): string | null {
  const [path = ''] = url.split('?')
  const other = path.startsWith('/v1/v1/') ? path.slice('/v1'.length) : `/v1${path}`
  const route = other.startsWith(MODEL) ? `${MODEL}*` : other
  return METHODS.has(method) && app.hasRoute({ method, url: route }) ? other : null
}

const MODEL = '/v1/models/'

/** Fastify throws for a method that it does not support. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'])
