import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'

/**
 * Throws an `ApiError` `invalid_request` when `field` is a list with more entries than the model's context window has
 * tokens. It runs before the entries are parsed, because a body may contain a million of them.
 */
export function refuseLongList(body: JsonObject, field: string, { contextWindow }: ModelSpec): void {
  const list = body[field]
  if (!Array.isArray(list) || list.length <= contextWindow) return
  throw new ApiError('invalid_request', `'${field}': expected at most ${contextWindow} for this model.`, {
    param: field,
  })
}
