import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { z } from 'zod'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { isJsonObject } from '#libs/json-schema/json-schema.ts'
import { findModel, type Catalog } from '../../catalog.ts'
import { isAnthropic } from '../../http/api-style.ts'
import { parseBody } from '../../http/parse-body.ts'
import type { AnthropicModel, AnthropicModelList, ModelList, ModelObject } from './model-object.ts'

type CatalogOf = (request: FastifyRequest) => Catalog

/**
 * `GET /v1/models`: every entry of the caller's catalog, including disabled ones. Anthropic's clients get their own
 * shape, in pages if they ask for them.
 */
export function listModels(catalogOf: CatalogOf): RouteHandlerMethod {
  return async (request): Promise<ModelList | AnthropicModelList> => {
    const models = catalogOf(request).list()
    if (isAnthropic(request)) return toPage(models, parseBody(Page, toFields(request.query)))
    return { object: 'list', data: models.map(toModelObject) }
  }
}

/**
 * `GET /v1/models/*`: one entry. Ids contain slashes, so the rest of the path is the id, raw or
 * percent-encoded.
 */
export function describeModel(catalogOf: CatalogOf): RouteHandlerMethod {
  return async (request) => {
    const model = findModel(catalogOf(request), readId(request.params))
    return isAnthropic(request) ? toAnthropicModel(model) : toModelObject(model)
  }
}

const LIMIT = 'expected a whole number from 1 to 1000'

/** The query of Anthropic's interface. Without a limit, the page has the whole catalog. */
export const Page = z.object({
  limit: z.coerce
    .number(LIMIT)
    .pipe(z.int(LIMIT).min(1, LIMIT).max(1_000, LIMIT))
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: 1_000 }),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
})

function toPage(models: readonly ModelSpec[], { limit, ...page }: z.output<typeof Page>): AnthropicModelList {
  const indexOf = (id: string | undefined) => models.findIndex((model) => model.id === id)
  const end = indexOf(page.before_id)
  const asked = models.slice(indexOf(page.after_id) + 1, end < 0 ? models.length : end)
  const listed = end < 0 ? asked.slice(0, limit) : asked.slice(-(limit ?? asked.length))
  return {
    data: listed.map(toAnthropicModel),
    has_more: listed.length < asked.length,
    first_id: listed[0]?.id ?? null,
    last_id: listed.at(-1)?.id ?? null,
  }
}

const toFields = (query: unknown) => (isJsonObject(query) ? query : {})

function readId(params: unknown): string {
  const rest = toFields(params)['*']
  return typeof rest === 'string' ? rest : ''
}

function toModelObject(model: ModelSpec): ModelObject {
  return { id: model.id, object: 'model', created: model.created, owned_by: model.ownedBy }
}

function toAnthropicModel({ id, created }: ModelSpec): AnthropicModel {
  return { type: 'model', id, display_name: id, created_at: new Date(created * 1_000).toISOString() }
}
