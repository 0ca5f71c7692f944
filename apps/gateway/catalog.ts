import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { shorten } from './http/shorten.ts'
import { RETRY_AFTER_S } from './retry-after.ts'

/** A model as requests see it. `callFormat` is the format in which its workers write tool calls; absent if unknown. */
export type CatalogModel = ModelSpec & { readonly callFormat?: string }

/** The models that requests may name. */
export type Catalog = {
  list(): readonly CatalogModel[]
  /**
   * Returns null if there is no such model. Throws an `ApiError` `model_unavailable` while it is not known whether the
   * model exists.
   */
  find(id: string): CatalogModel | null
}

export type LiveCatalog = Catalog & {
  /** Takes billing's whole catalog, each time it changes; the catalog may be empty. */
  replace(models: readonly ModelSpec[]): void
  /** Returns whether the catalog has the model, and requests for it are allowed. */
  isSold(id: string): boolean
  /** True once billing has sent its catalog. */
  isLive(): boolean
}

/**
 * The catalog as billing last sent it. `fallback` is used until billing is reached for the first time. After that the
 * last live catalog stays in use, also while billing is down, because it is newer than any file. While the fallback is
 * in use, a model that is missing in it may still exist, so `find` throws for such a model.
 */
export function createLiveCatalog(fallback: readonly ModelSpec[]): LiveCatalog {
  let models = fallback
  let byId = indexById(models)
  let live = false
  return {
    list: () => models,
    find(id) {
      const model = byId.get(id) ?? null
      if (model === null && !live) {
        throw new ApiError('model_unavailable', 'The catalog cannot be read right now.', {
          retryAfterS: RETRY_AFTER_S.dependencyDown,
        })
      }
      return model
    },
    replace(next) {
      live = true
      models = next
      byId = indexById(models)
    },
    isSold: (id) => byId.get(id)?.enabled === true,
    isLive: () => live,
  }
}

/** Returns the catalog for a key that may use only the models in `allowed`; null allows all. */
export function narrowCatalog(catalog: Catalog, allowed: ReadonlySet<string> | null): Catalog {
  if (allowed === null) return catalog
  return {
    list: () => catalog.list().filter(({ id }) => allowed.has(id)),
    find: (id) => (allowed.has(id) ? catalog.find(id) : null),
  }
}

/** The models with call formats, so that all open streams of a model share one object. */
const completed = new WeakMap<CatalogModel, CatalogModel>()

/** Returns the catalog, with the call formats that the models' workers have reported. */
export function withCallFormats(catalog: Catalog, callFormatOf: (model: string) => string | null): Catalog {
  const complete = (model: CatalogModel): CatalogModel => {
    const callFormat = callFormatOf(model.id)
    if (callFormat === null) return model
    const known = completed.get(model)
    if (known?.callFormat === callFormat) return known
    const made = { ...model, callFormat }
    completed.set(model, made)
    return made
  }
  return {
    list: () => catalog.list().map(complete),
    find(id) {
      const model = catalog.find(id)
      return model === null ? null : complete(model)
    },
  }
}

/** Returns the model with this id. Throws an `ApiError`: `model_not_found`, or `model_unavailable`. */
export function findModel(catalog: Pick<Catalog, 'find'>, id: string): CatalogModel {
  const model = catalog.find(id)
  if (model === null) {
    throw new ApiError('model_not_found', `Unknown model '${shorten(id)}'`)
  }
  return model
}

/**
 * Returns the model that a body names. It must be of the kind that the operation needs. Throws an `ApiError`:
 * `invalid_request` if `model` is not a string, `model_not_found` if the catalog has no such model or if the model is
 * of the other kind.
 */
export function findModelOfBody(
  catalog: Pick<Catalog, 'find'>,
  { model: id }: { readonly model?: unknown },
  kind: ModelSpec['kind'],
): CatalogModel {
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

function indexById(models: readonly ModelSpec[]): ReadonlyMap<string, ModelSpec> {
  return new Map(models.map((model) => [model.id, model]))
}
