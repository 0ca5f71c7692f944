import { isJsonObject, type JsonSchema, type SchemaProblem } from '#libs/json-schema/json-schema.ts'
import type { GrammarUse } from '#libs/json-schema/limits.ts'
import { toPointer, type Subschema } from '#libs/json-schema/subschemas.ts'

/**
 * Rejects bounds that no value satisfies, and bounds beyond what the engine's grammar library (xgrammar) can count:
 * it would refuse the whole schema without naming a place, or take minutes to compile it.
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

/** Each may be followed by any later one, so the size of the grammar grows with their square. */
const MAX_OPTIONAL = 1_000
const TOO_MANY_OPTIONAL = `expected at most ${MAX_OPTIONAL} optional properties in one object`
/** Summed over all objects of a request with `minProperties` or `maxProperties`: their grammars have a state for each count. */
const MAX_COUNTED = 64
const TOO_MANY_COUNTED = `expected at most ${MAX_COUNTED} optional properties where they are counted`
const MAX_COUNT = 2 ** 31 - 1
/** The highest double below 2^63: a larger integer of 64 bits would be rounded up beyond it. */
const MAX_INTEGER = 2 ** 63 - 2 ** 10

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
  for (const [least, most] of PAIRS) {
    const [low, high] = [schema[least], schema[most]]
    if (typeof low !== 'number' || typeof high !== 'number') continue
    // Between two excluded integers there must be a third one.
    const isInside = least === 'exclusiveMinimum' && most === 'exclusiveMaximum' && isInteger(schema)
    const room = high - low - (isInside ? 1 : 0)
    const mayMeet = !least.startsWith('exclusive') && !most.startsWith('exclusive')
    if (mayMeet ? room < 0 : room <= 0) return { at: [least], text: `nothing is left below ${most}` }
  }
  return findFalse(schema) ?? findMissingPlaces(schema)
}

/** `false` as a value's own schema. Under `additionalProperties` and `items` it only forbids more, and is supported. */
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
  for (const [keyword, value] of Object.entries(schema)) {
    if (typeof value !== 'number') continue
    if (COUNTS.has(keyword) && value > MAX_COUNT)
      return { at: [keyword], text: `expected at most ${MAX_COUNT}` }
    if (!LIMITS.has(keyword) || !isInteger(schema)) continue
    if (!Number.isInteger(value)) return { at: [keyword], text: 'expected a whole number for an integer' }
    if (Math.abs(value) > MAX_INTEGER) return { at: [keyword], text: 'expected an integer of 64 bits' }
  }
  return null
}

const COUNTS: ReadonlySet<string> = new Set(PAIRS.slice(0, 3).flat())
const LIMITS: ReadonlySet<string> = new Set(PAIRS.slice(3).flat())

function isInteger({ type }: JsonSchema): boolean {
  return type === 'integer' || (Array.isArray(type) && type.includes('integer') && !type.includes('number'))
}

function countOptional({ properties, required }: JsonSchema): number {
  const known = isJsonObject(properties) ? Object.keys(properties) : []
  const needed: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required : [])
  return known.filter((name) => !needed.has(name)).length
}

const countedBy = (schema: JsonSchema) => ('minProperties' in schema ? 'minProperties' : 'maxProperties')
