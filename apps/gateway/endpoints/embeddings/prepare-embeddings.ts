import { ApiError } from '#libs/contracts/api-error.ts'
import type { EmbeddingRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import { parseBody, requireFields } from '../../http/parse-body.ts'
import { findModelOfBody, type Catalog } from '../../catalog.ts'
import { EmbeddingBody, type EncodingFormat } from './embedding-body.ts'

export type PreparedEmbeddings = {
  readonly model: ModelSpec
  readonly request: EmbeddingRequest
  /** The length of the returned vectors; at most the length of the model's vectors. */
  readonly dimensions: number
  readonly encoding: EncodingFormat
}

/**
 * Checks a body's fields in the order that the interface defines: required fields, the model, then the values. The
 * function is pure, and its result is plain data. Throws an `ApiError`.
 */
export function prepareEmbeddings(json: JsonObject, catalog: Pick<Catalog, 'find'>): PreparedEmbeddings {
  requireFields(json, ['model', 'input'])
  const model = findModelOfBody(catalog, json, 'embedding')
  const { input, encoding_format: encoding = 'float', dimensions } = parseBody(EmbeddingBody, json)
  return {
    model,
    request: { kind: 'embedding', inputs: typeof input === 'string' ? [input] : input },
    dimensions: toDimensions(dimensions, model),
    encoding,
  }
}

function toDimensions(wanted: number | undefined, { id, embedding }: ModelSpec): number {
  if (embedding === null) throw new Error(`the catalog has no embedding dimensions for '${id}'`)
  const { dimensions, matryoshka } = embedding
  if (wanted === undefined || wanted === dimensions) return dimensions
  if (matryoshka && wanted < dimensions) return wanted
  const allowed = matryoshka ? `a whole number from 1 to ${dimensions}` : `${dimensions}, or nothing`
  throw new ApiError('invalid_request', `'dimensions': expected ${allowed} for this model.`, {
    param: 'dimensions',
  })
}
