import {
  isSchemaObject,
  toPointer,
  type SchemaObject,
  type SchemaProblem,
  type Subschema,
} from './collect-subschemas.ts'

/**
 * Refuses bounds that no value keeps and bounds that the engine's grammar library (xgrammar) cannot count: it would
 * refuse the whole schema without naming a place, or be busy with it for minutes.
 */
export function checkBounds(subschemas: readonly Subschema[]): SchemaProblem | null {
  let optional = 0
  for (const subschema of subschemas) {
    const { schema } = subschema
    const own = countOptional(schema)
    if ('minProperties' in schema || 'maxProperties' in schema) optional += own
    const found =
      findImpossible(schema) ??
      findUncountable(schema) ??
      (own > MAX_OPTIONAL ? { at: ['properties'], text: TOO_MANY_OPTIONAL } : null) ??
      (optional > MAX_COUNTED ? { at: [countedBy(schema)], text: TOO_MANY_COUNTED } : null)
    if (found !== null) return { pointer: toPointer(subschema, ...found.at), text: found.text }
  }
  return null
}

type Found = { readonly at: readonly string[]; readonly text: string }

/** Each may be followed by any after it. */
const MAX_OPTIONAL = 1_000
const TOO_MANY_OPTIONAL = `expected at most ${MAX_OPTIONAL} optional properties in one object`
/** Of all objects that count theirs: how many there are so far is kept in mind through all of them. */
const MAX_COUNTED = 64
const TOO_MANY_COUNTED = `expected at most ${MAX_COUNTED} optional properties where they are counted`
const MAX_COUNT = 2 ** 31 - 1
/** JavaScript writes the last whole numbers of 64 bits one too large. */
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

function findImpossible(schema: SchemaObject): Found | null {
  const options = schema['enum']
  if (Array.isArray(options) && options.length === 0) return { at: ['enum'], text: 'expected a value' }
  for (const [least, most] of PAIRS) {
    const [low, high] = [schema[least], schema[most]]
    if (typeof low !== 'number' || typeof high !== 'number') continue
    // Between two whole numbers that are both left out there must be a third.
    const isInside = least === 'exclusiveMinimum' && most === 'exclusiveMaximum' && isInteger(schema)
    const room = high - low - (isInside ? 1 : 0)
    const mayMeet = !least.startsWith('exclusive') && !most.startsWith('exclusive')
    if (mayMeet ? room < 0 : room <= 0) return { at: [least], text: `nothing is left below ${most}` }
  }
  return findFalse(schema) ?? findMissingPlaces(schema)
}

/** `false` where a value is described; where more is forbidden (`additionalProperties`, `items`) it is served. */
function findFalse(schema: SchemaObject): Found | null {
  for (const keyword of ['properties', 'patternProperties', 'anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    const inner = Object.entries(Object(schema[keyword])).find(([, one]) => one === false)
    if (inner !== undefined) return { at: [keyword, inner[0]], text: 'no value fits false' }
  }
  return null
}

function findMissingPlaces({
  prefixItems,
  items,
  minItems,
  maxItems,
  ...others
}: SchemaObject): Found | null {
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

function findUncountable(schema: SchemaObject): Found | null {
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

function isInteger({ type }: SchemaObject): boolean {
  return type === 'integer' || (Array.isArray(type) && type.includes('integer') && !type.includes('number'))
}

function countOptional({ properties, required }: SchemaObject): number {
  const known = isSchemaObject(properties) ? Object.keys(properties) : []
  const needed: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required : [])
  return known.filter((name) => !needed.has(name)).length
}

const countedBy = (schema: SchemaObject) => ('minProperties' in schema ? 'minProperties' : 'maxProperties')
