import { findUnproductive } from './find-unproductive.ts'
import { isJsonObject, type JsonSchema, type SchemaProblem } from './json-schema.ts'
import type { References } from './references.ts'
import { toPointer, type Subschema } from './subschemas.ts'

/**
 * Finds a schema that no finite value fits, and at which a generation may arrive: it requires itself, as in
 * `{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}`, excludes everything with `not`, or its parts in `allOf`
 * have no type in common. A schema that nothing refers to is not considered.
 */
export function findUnsatisfiable(
  subschemas: readonly Subschema[],
  references: References,
): SchemaProblem | null {
  const needs = new Map(subschemas.map(({ schema }) => [schema, needsOf(schema, references)]))
  const unproductive = findUnproductive(needs)
  if (unproductive.size === 0) return null
  const inner = new Map<JsonSchema, JsonSchema[]>(subschemas.map(({ schema }) => [schema, []]))
  for (const [schema, target] of references) inner.get(schema)?.push(target)
  for (const { schema, parent, keys } of subschemas)
    if (parent !== null && APPLIED.has(keys[0] ?? '')) inner.get(parent.schema)?.push(schema)
  const [root] = subschemas
  const reached = new Set(root === undefined ? [] : [root.schema])
  let found: JsonSchema | null = null
  // The set grows while it is read.
  for (const schema of reached) {
    if (unproductive.has(schema)) found = schema
    for (const next of inner.get(schema) ?? []) reached.add(next)
  }
  const place = subschemas.find(({ schema }) => schema === found)
  return place === undefined ? null : { pointer: toPointer(place), text: 'no value fits it' }
}

/** The keywords whose schemas the grammar library applies. */
const APPLIED = new Set([
  'additionalProperties',
  'allOf',
  'anyOf',
  'items',
  'oneOf',
  'patternProperties',
  'prefixItems',
  'properties',
])

const NEVER: readonly JsonSchema[] = []

/** Returns the schemas of which a value of `schema` needs a value, as clauses for `findUnproductive`. */
function needsOf(schema: JsonSchema, references: References): (readonly JsonSchema[])[] {
  const { $ref: _, not, allOf, anyOf, oneOf } = schema
  const target = references.get(schema)
  const all = Array.isArray(allOf) ? allOf.filter(isJsonObject) : []
  const clauses: (readonly JsonSchema[])[] = [...all, ...(target === undefined ? [] : [target])].map(
    (part) => [part],
  )
  for (const options of [anyOf, oneOf]) {
    // The option `true` fits every value.
    if (Array.isArray(options) && options.every(isJsonObject)) clauses.push(options)
  }
  const excludesAll = not === true || (isJsonObject(not) && Object.keys(not).length === 0)
  const parts = [schema, ...all.map((part) => references.get(part) ?? part)]
  if (excludesAll || haveNoType(parts)) clauses.push(NEVER)
  const isGiven = 'const' in schema || 'enum' in schema
  return isGiven ? clauses : [...clauses, ...[...membersOf(schema), ...itemsOf(schema)].map((part) => [part])]
}

/** Returns the schemas of the members that each value has, if the values are objects. */
function membersOf(schema: JsonSchema): JsonSchema[] {
  const { required, properties, patternProperties, additionalProperties } = schema
  if (!isOnly(schema, 'object') || !Array.isArray(required)) return []
  const known = isJsonObject(properties) ? properties : {}
  const other = isJsonObject(patternProperties) ? undefined : additionalProperties
  return required
    .map((name: string) => (Object.hasOwn(known, name) ? known[name] : other))
    .filter(isJsonObject)
}

/** Returns the schemas of the items that each value has, if the values are lists. */
function itemsOf(schema: JsonSchema): JsonSchema[] {
  const { minItems, items, prefixItems } = schema
  if (!isOnly(schema, 'array') || typeof minItems !== 'number') return []
  const list = Array.isArray(items) ? items : prefixItems
  const first: unknown[] = Array.isArray(list) ? list : []
  const others = minItems > first.length && !Array.isArray(items) ? [items] : []
  return [...first.slice(0, minItems), ...others].filter(isJsonObject)
}

/** A schema without a type that has keywords of objects or lists is meant for them, and the library reads it so. */
const isOnly = ({ type }: JsonSchema, name: string) =>
  type === undefined || type === name || (Array.isArray(type) && type.length === 1 && type[0] === name)

/** Returns whether schemas that apply to one value have no type in common. Each integer is a number as well. */
function haveNoType(parts: readonly JsonSchema[]): boolean {
  const typed = parts.map(({ type }) => type).filter((type) => type !== undefined)
  const allowed = typed.map(
    (type) => new Set<unknown>([type].flat().flatMap((one) => (one === 'number' ? [one, 'integer'] : one))),
  )
  const [first, ...others] = allowed
  return first !== undefined && ![...first].some((type) => others.every((each) => each.has(type)))
}
