import type { FastifyRequest } from 'fastify'
import type { Catalog } from '../endpoints/find-model.ts'
import { readJsonObject } from '../http/parse-body.ts'
import type { BodyThread } from './body-thread.ts'
import type { Preparation, Prepared } from './preparations.ts'
import { refuseHopeless } from './refuse-hopeless.ts'

/** Reads a body's bytes by an operation's preparation, wherever that is best done. Throws an `ApiError`. */
export type PrepareBody = <Result extends Prepared>(
  preparation: Preparation<Result>,
  body: unknown,
  catalog: Catalog,
) => Promise<Result>

/** The same for a route: the body is taken from its request, so that a long answer does not keep it. */
export type PrepareRequest = <Result extends Prepared>(
  preparation: Preparation<Result>,
  request: FastifyRequest,
) => Promise<Result>

/**
 * Small bodies are prepared at once. Those of at least `largeBytes` would stop every stream of this process for
 * as long as they take, so they go to a thread, and their bytes with them.
 */
export function createPrepareBody(deps: {
  thread: Pick<BodyThread, 'prepare'>
  largeBytes: number
}): PrepareBody {
  const { thread, largeBytes } = deps
  return async (preparation, body, catalog) => {
    if (!Buffer.isBuffer(body) || body.length < largeBytes) return prepareNow(preparation, body, catalog)
    return await thread.prepare(preparation, body, catalog.list())
  }
}

export function createPrepareRequest(deps: {
  prepareBody: PrepareBody
  /** The catalog as the request's caller may see it. */
  catalogOf: (request: FastifyRequest) => Catalog
  /** Gives back the memory that the body took while it arrived and waited. */
  release: (request: FastifyRequest) => void
}): PrepareRequest {
  const { prepareBody, catalogOf, release } = deps
  return async (preparation, request) => {
    const { body } = request
    request.body = undefined
    try {
      return await prepareBody(preparation, body, catalogOf(request))
    } finally {
      release(request)
    }
  }
}

/** From bytes to a request that may be admitted. Throws an `ApiError`. */
export function prepareNow<Result extends Prepared>(
  preparation: Preparation<Result>,
  body: unknown,
  catalog: Pick<Catalog, 'find'>,
): Result {
  const prepared = preparation(readJsonObject(body), catalog)
  refuseHopeless(prepared.request, prepared.model)
  return prepared
}
