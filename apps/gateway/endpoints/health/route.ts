import type { RouteHandlerMethod } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'

/**
 * `GET /health`: 200 while this gateway takes work. While the gateway drains, the request is refused before it reaches
 * this route.
 */
export function readHealth(takesWork: () => boolean): RouteHandlerMethod {
  return async () => {
    if (!takesWork()) throw new ApiError('model_unavailable', 'This gateway takes no requests at the moment.')
    return { status: 'ok' }
  }
}
