import type { JsonSchema } from '../engine-constraint.ts'
import { mapSubschemas } from './map-subschemas.ts'

/**
 * Writes tuples as drafts since 2020-12 do: `items: [a, b]` with `additionalItems` becomes `prefixItems` with
 * `items`. Many clients still generate draft 7, whose other keywords read the same; this one the engine's
 * grammar library refuses.
 */
export function toCurrentDraft(schema: JsonSchema): JsonSchema {
  return mapSubschemas(withCurrentTuple(schema), toCurrentDraft)
}

function withCurrentTuple(schema: JsonSchema): JsonSchema {
  const { additionalItems, ...others } = schema
  if (!Array.isArray(schema['items'])) return schema
  const renamed = Object.entries(others).map(([keyword, value]): [string, unknown] => [
    keyword === 'items' ? 'prefixItems' : keyword,
    value,
  ])
  if (additionalItems !== undefined) renamed.push(['items', additionalItems])
  return Object.fromEntries(renamed)
}
