import type { JsonSchema } from '#libs/json-schema/json-schema.ts'
import { mapSubschemas } from '#libs/json-schema/subschemas.ts'

/**
 * Rewrites tuples of draft 7 in draft 2020-12: `items: [a, b]` with `additionalItems` becomes `prefixItems` with
 * `items`. Many clients still generate draft 7, whose tuples the engine's grammar library refuses. The other keywords
 * in use mean the same in both drafts.
 */
export function toCurrentDraft(schema: JsonSchema): JsonSchema {
  return mapSubschemas(withCurrentTuple(schema), toCurrentDraft)
}

function withCurrentTuple(schema: JsonSchema): JsonSchema {
  if (!Array.isArray(schema['items'])) return schema
  const { additionalItems, ...others } = schema
  const renamed = Object.entries(others).map(([keyword, value]): [string, unknown] => [
    keyword === 'items' ? 'prefixItems' : keyword,
    value,
  ])
  if (additionalItems !== undefined) renamed.push(['items', additionalItems])
  return Object.fromEntries(renamed)
}
