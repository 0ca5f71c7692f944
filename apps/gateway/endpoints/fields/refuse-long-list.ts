import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { JsonObject } from '../../http/parse-body.ts'

/**
 * Throws an `ApiError` `invalid_request` when `field` is a list of more entries than the model's context window has
 * tokens, before a million of them are looked at one by one.
 */
export function refuseLongList(body: JsonObject, field: string, { contextWindow }: ModelSpec): void {
  const list = body[field]
  if (!Array.isArray(list) || list.length <= contextWindow) return
  throw new ApiError('invalid_request', `'${field}': expected at most ${contextWindow} for this model.`, {
    param: field,
  })
}
