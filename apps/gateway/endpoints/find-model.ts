import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { JsonObject } from '../http/parse-body.ts'
import { shorten } from '../http/shorten.ts'

/** The live catalog, as the HTTP side reads it. */
export type Catalog = {
  list(): readonly ModelSpec[]
  find(id: string): ModelSpec | null
}

/** The catalog's entry of that id. Throws an `ApiError` `model_not_found`. */
export function findModel(catalog: Pick<Catalog, 'find'>, id: string): ModelSpec {
  const model = catalog.find(id)
  if (model === null) {
    throw new ApiError('model_not_found', `Unknown model '${shorten(id)}'`)
  }
  return model
}

/**
 * The model that a body names, of the kind that the operation needs. Throws an `ApiError` `invalid_request` when
 * `model` is not text, `model_not_found` when the catalog has no such model or it is of the other kind.
 */
export function findModelOfBody(
  catalog: Pick<Catalog, 'find'>,
  body: JsonObject,
  kind: ModelSpec['kind'],
): ModelSpec {
  const { model: id } = body
  if (typeof id !== 'string') {
    throw new ApiError('invalid_request', `'model': expected text.`, { param: 'model' })
  }
  const model = findModel(catalog, id)
  if (model.kind !== kind) {
    throw new ApiError('model_not_found', `The model '${model.id}' ${LACKS[kind]}.`)
  }
  return model
}

const LACKS = { chat: 'does not chat', embedding: 'does not embed' } as const
