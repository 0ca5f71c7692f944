import type { JsonSchema } from '../engine-constraint.ts'

/** The schema with `map` applied to each that it holds. What is only a value (`const`, `enum`, …) stays as it is. */
export function mapSubschemas(schema: JsonSchema, map: (inner: JsonSchema) => JsonSchema): JsonSchema {
  const mapOne = (value: unknown): unknown => (isSchema(value) ? map(value) : value)
  const mapHeld = (keyword: string, held: unknown): unknown => {
    if (VALUES.has(keyword)) return held
    if (Array.isArray(held)) return held.map(mapOne)
    if (!MAPS.has(keyword) || !isSchema(held)) return mapOne(held)
    return Object.fromEntries(Object.entries(held).map(([name, inner]) => [name, mapOne(inner)]))
  }
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, held]) => [keyword, mapHeld(keyword, held)]),
  )
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Their values are schemas by name, whatever the names are. */
const MAPS = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'])
const VALUES = new Set(['const', 'default', 'enum', 'examples'])
