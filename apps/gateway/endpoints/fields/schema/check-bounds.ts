import {
  allowsIntegersAlone,
  isJsonObject,
  type JsonSchema,
  type SchemaProblem,
} from '#libs/json-schema/json-schema.ts'
import type { GrammarUse } from '#libs/json-schema/limits.ts'
import { toPointer, type Subschema } from '#libs/json-schema/subschemas.ts'

/**
 * Rejects these schemas:
 * - A schema with bounds that no value satisfies, or with a minimum count (such as `minLength`) that the engine's
 *   grammar library (xgrammar) cannot represent. The library would refuse the whole schema without naming a place.
 * - A schema with so many optional properties that the library would compile it for minutes.
 *
 * Other bounds that the library cannot represent are accepted; `fitBounds` removes them from the grammar.
 */
export function checkBounds(subschemas: readonly Subschema[], use: GrammarUse): SchemaProblem | null {
  for (const subschema of subschemas) {
    const { schema } = subschema
    const own = countOptional(schema)
    if ('minProperties' in schema || 'maxProperties' in schema) use.countedProperties += own
    const found =
      findImpossible(schema) ??
      findUncountable(schema) ??
      (own > MAX_OPTIONAL ? { at: ['properties'], text: TOO_MANY_OPTIONAL } : null) ??
      (use.countedProperties > MAX_COUNTED ? { at: [countedBy(schema)], text: TOO_MANY_COUNTED } : null)
    if (found !== null) return { pointer: toPointer(subschema, ...found.at), text: found.text }
  }
  return null
}

type Found = { readonly at: readonly string[]; readonly text: string }

/**
 * The largest number of optional properties in one object. Each optional property may be followed by any later
 * property, so the size of the grammar grows with the square of the number of optional properties.
 */
const MAX_OPTIONAL = 1_000
const TOO_MANY_OPTIONAL = `expected at most ${MAX_OPTIONAL} optional properties in one object`
/**
 * The largest number of optional properties in all schemas of a request, counted only in objects with `minProperties`
 * or `maxProperties`. The grammar of such an object has a state for each possible number of these properties.
 */
const MAX_COUNTED = 64
const TOO_MANY_COUNTED = `expected at most ${MAX_COUNTED} optional properties where they are counted`
const MAX_COUNT = 2 ** 31 - 1

const PAIRS = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
  ['minimum', 'maximum'],
  ['minimum', 'exclusiveMaximum'],
  ['exclusiveMinimum', 'maximum'],
  ['exclusiveMinimum', 'exclusiveMaximum'],
] as const

function findImpossible(schema: JsonSchema): Found | null {
  const options = schema['enum']
  if (Array.isArray(options) && options.length === 0) return { at: ['enum'], text: 'expected a value' }
  // All parts apply to the same value.
  const allOf = schema['allOf']
  const parts = [schema, ...(Array.isArray(allOf) ? allOf.filter(isJsonObject) : [])]
  const bounds = (keyword: string) => parts.flatMap((part) => boundOf(part, keyword) ?? [])
  for (const [least, most] of PAIRS) {
    const [low, high] = [Math.max(...bounds(least)), Math.min(...bounds(most))]
    if (low === -Infinity || high === Infinity) continue
    // Between two excluded integers there must be another integer.
    const isInside =
      least === 'exclusiveMinimum' && most === 'exclusiveMaximum' && parts.some(allowsIntegersAlone)
    const mayMeet = !least.startsWith('exclusive') && !most.startsWith('exclusive')
    // Integers above this limit are rounded, so two bounds that seem equal may differ.
    const isRounded = Math.abs(low) > Number.MAX_SAFE_INTEGER
    const room = high - low - (isInside && !isRounded ? 1 : 0)
    if (mayMeet || isRounded ? room < 0 : room <= 0) {
      return { at: [least], text: `nothing is left below ${most}` }
    }
  }
  return findFalse(schema) ?? findMissingPlaces(schema)
}

/** Returns a bound. If only integers are allowed, the bound is rounded; it still allows the same integers. */
function boundOf(schema: JsonSchema, keyword: string): number | null {
  const bound = schema[keyword]
  if (typeof bound !== 'number') return null
  if (!allowsIntegersAlone(schema)) return bound
  return keyword === 'minimum' || keyword === 'exclusiveMaximum' ? Math.ceil(bound) : Math.floor(bound)
}

/**
 * Finds a value whose own schema is `false`. `false` under `additionalProperties` or `items` only forbids more values,
 * and is supported.
 */
function findFalse(schema: JsonSchema): Found | null {
  for (const keyword of ['properties', 'patternProperties', 'anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    const inner = Object.entries(Object(schema[keyword])).find(([, one]) => one === false)
    if (inner !== undefined) return { at: [keyword, inner[0]], text: 'no value fits false' }
  }
  return null
}

function findMissingPlaces({ prefixItems, items, minItems, maxItems, ...others }: JsonSchema): Found | null {
  const places = Array.isArray(prefixItems) ? prefixItems.length : 0
  const isClosed = items === false || (items === undefined && others['unevaluatedItems'] === false)
  if (isClosed && typeof minItems === 'number' && minItems > places) {
    return { at: ['minItems'], text: `expected at most ${places}, as no more items are allowed` }
  }
  if (typeof maxItems === 'number' && maxItems < places) {
    return { at: ['maxItems'], text: `expected at least ${places}, the length of prefixItems` }
  }
  return null
}

function findUncountable(schema: JsonSchema): Found | null {
  for (const keyword of LEAST_COUNTS) {
    const value = schema[keyword]
    if (typeof value === 'number' && value > MAX_COUNT) {
      return { at: [keyword], text: `expected at most ${MAX_COUNT}` }
    }
  }
  return null
}

/**
 * The keywords of minimum counts. A minimum above `MAX_COUNT`, the largest count that the grammar library can
 * represent, is refused, because no output is that long. A maximum above `MAX_COUNT` excludes nothing, so it is
 * accepted.
 */
const LEAST_COUNTS = ['minLength', 'minItems', 'minProperties'] as const

function countOptional({ properties, required }: JsonSchema): number {
  const known = isJsonObject(properties) ? Object.keys(properties) : []
  const needed: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required : [])
  return known.filter((name) => !needed.has(name)).length
}

const countedBy = (schema: JsonSchema) => ('minProperties' in schema ? 'minProperties' : 'maxProperties')
