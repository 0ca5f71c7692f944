import type { RouteHandlerMethod } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'

/**
 * `GET /health`: 200 while this gateway takes work. While the gateway stops, the drain refuses the request before this
 * route.
 */
export function readHealth(takesWork: () => boolean): RouteHandlerMethod {
  return async () => {
    if (!takesWork()) throw new ApiError('model_unavailable', 'This gateway takes no requests at the moment.')
    return { status: 'ok' }
  }
}
