import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { findModel, type Catalog } from '../../catalog.ts'
import type { ModelList, ModelObject } from './model-object.ts'

type CatalogOf = (request: FastifyRequest) => Catalog

/** `GET /v1/models`: every entry of the caller's catalog, including disabled ones. */
export function listModels(catalogOf: CatalogOf): RouteHandlerMethod {
  return async (request): Promise<ModelList> => ({
    object: 'list',
    data: catalogOf(request).list().map(toModelObject),
  })
}

/**
 * `GET /v1/models/*`: one entry. Ids contain slashes, so the rest of the path is the id, raw or
 * percent-encoded.
 */
export function describeModel(catalogOf: CatalogOf): RouteHandlerMethod {
  return async (request) => toModelObject(findModel(catalogOf(request), readId(request.params)))
}

function readId(params: unknown): string {
  const rest = typeof params === 'object' && params !== null && '*' in params ? params['*'] : undefined
  return typeof rest === 'string' ? rest : ''
}

function toModelObject(model: ModelSpec): ModelObject {
  return { id: model.id, object: 'model', created: model.created, owned_by: model.ownedBy }
}
