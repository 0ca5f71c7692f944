import type { JsonSchema } from '../../engine/engine-client.ts'

/**
 * Writes tuples as drafts since 2020-12 do: `items: [a, b]` with `additionalItems` becomes `prefixItems` with
 * `items`. Many clients still generate draft 7, whose other keywords read the same; this one the engine's
 * grammar library refuses. What is only a value (`const`, `enum`, …) stays as it is.
 */
export function toCurrentDraft(schema: JsonSchema): JsonSchema {
  const { additionalItems, ...others } = schema
  const isTuple = Array.isArray(schema['items'])
  const members = Object.entries(isTuple ? others : schema).map(([keyword, value]): [string, unknown] => [
    isTuple && keyword === 'items' ? 'prefixItems' : keyword,
    convert(keyword, value),
  ])
  if (isTuple && additionalItems !== undefined) members.push(['items', convert('items', additionalItems)])
  return Object.fromEntries(members)
}

/** Their values are schemas by name, whatever the names are. */
const MAPS = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'])
const VALUES = new Set(['const', 'default', 'enum', 'examples'])

function convert(keyword: string, value: unknown): unknown {
  if (VALUES.has(keyword)) return value
  if (Array.isArray(value)) return value.map((inner: unknown) => convertSchema(inner))
  if (!MAPS.has(keyword) || !isRecord(value)) return convertSchema(value)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, convertSchema(inner)]))
}

function convertSchema(value: unknown): unknown {
  return isRecord(value) ? toCurrentDraft(value) : value
}

function isRecord(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
