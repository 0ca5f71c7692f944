import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'

/** The live catalog, as the HTTP side reads it. */
export type Catalog = {
  list(): readonly ModelSpec[]
  find(id: string): ModelSpec | null
}

/** No id of the catalog is longer; a longer one is not echoed whole. */
const MAX_ID_LENGTH = 200

/** The catalog's entry of that id. Throws an `ApiError` `model_not_found`. */
export function findModel(catalog: Catalog, id: string): ModelSpec {
  const model = catalog.find(id)
  if (model === null) {
    throw new ApiError('model_not_found', `Unknown model '${id.slice(0, MAX_ID_LENGTH)}'`)
  }
  return model
}
