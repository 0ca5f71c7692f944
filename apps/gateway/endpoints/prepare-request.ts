import type { FastifyRequest } from 'fastify'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { sizeOf, type RequestSize } from '#libs/contracts/request-size.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import type { Caller } from '../caller.ts'
import type { Catalog } from '../catalog.ts'
import { readJsonObject } from '../http/parse-body.ts'
import { refuseShortage } from '../generation/insufficient-credits.ts'
import { refuseOversized } from './refuse-oversized.ts'

/**
 * An operation's reading of its bodies: checks the fields in the order that the interface defines (required
 * fields, the model, then the values) and translates them. Pure; its result is plain data. Throws an `ApiError`.
 */
export type Prepare<Result extends Prepared> = (body: JsonObject, catalog: Pick<Catalog, 'find'>) => Result

/** The fields that the result of every `Prepare` has. */
export type Prepared = { readonly model: ModelSpec; readonly request: GenerationRequest }

/** A prepared request with its size, which is counted where the body is prepared. */
export type Sized<Result extends Prepared> = Result & { readonly size: RequestSize }

/** Prepares a request's body, and removes it from the request. Throws an `ApiError`. */
export type PrepareRequest = <Result extends Prepared>(
  prepare: Prepare<Result>,
  request: FastifyRequest,
) => Promise<Sized<Result>>

/** Prepares a body on another thread, which takes over its memory. Throws an `ApiError`. */
export type PrepareOnThread = <Result extends Prepared>(
  prepare: Prepare<Result>,
  body: Buffer,
  models: readonly ModelSpec[],
) => Promise<Sized<Result>>

/**
 * Bodies of at least `largeBodyBytes` are prepared on a thread, because every stream of this process would stand
 * still in the meantime; smaller ones are prepared here. A caller who can pay for nothing gets no thread.
 */
export function createPrepareRequest(deps: {
  prepareOnThread: PrepareOnThread
  largeBodyBytes: number
  /** The catalog that the request's caller may see. */
  catalogOf: (request: FastifyRequest) => Catalog
  callerOf: (request: FastifyRequest) => Caller
  /** Frees the body's share of the memory budget. */
  releaseBody: (request: FastifyRequest) => void
}): PrepareRequest {
  const { prepareOnThread, largeBodyBytes, catalogOf, callerOf, releaseBody } = deps
  return async (prepare, request) => {
    const { body } = request
    // The request lives as long as its answer; its body need not.
    request.body = undefined
    try {
      const catalog = catalogOf(request)
      if (!Buffer.isBuffer(body) || body.length < largeBodyBytes) return prepareBody(prepare, body, catalog)
      refuseShortage(callerOf(request), catalog.list())
      return await prepareOnThread(prepare, body, catalog.list())
    } finally {
      releaseBody(request)
    }
  }
}

/** From a body's bytes to a request that may be admitted. Throws an `ApiError`. */
export function prepareBody<Result extends Prepared>(
  prepare: Prepare<Result>,
  body: unknown,
  catalog: Pick<Catalog, 'find'>,
): Sized<Result> {
  const prepared = prepare(readJsonObject(body), catalog)
  const size = sizeOf(prepared.request)
  refuseOversized(prepared.request, size, prepared.model)
  return { ...prepared, size }
}
