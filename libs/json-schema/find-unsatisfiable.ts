import { findUnproductive } from './find-unproductive.ts'
import { isJsonObject, type JsonSchema, type SchemaProblem } from './json-schema.ts'
import type { References } from './references.ts'
import { toPointer, type Subschema } from './subschemas.ts'

/**
 * Finds a schema that no finite value fits, because it requires itself, as in
 * `{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}`.
 */
export function findUnsatisfiable(
  subschemas: readonly Subschema[],
  references: References,
): SchemaProblem | null {
  const rules = new Map<unknown, unknown[][]>()
  for (const { schema } of subschemas) {
    const choices = [schema['anyOf'], schema['oneOf']].filter((options) => Array.isArray(options))
    // The option `true` needs nothing.
    for (const options of choices)
      rules.set(
        options,
        options.map((option) => [option].filter(isJsonObject)),
      )
    rules.set(schema, [
      [...needsOf(schema), ...choices, references.get(schema)].filter((need) => need !== undefined),
    ])
  }
  const unproductive = findUnproductive(rules)
  if (unproductive.size === 0) return null
  const reached = reach(subschemas, references)
  const place = subschemas.findLast(({ schema }) => unproductive.has(schema) && reached.has(schema))
  return place === undefined ? null : { pointer: toPointer(place), text: 'no value fits it' }
}

/** Returns the schemas at which a generation may arrive. A definition that nothing refers to is not among them. */
function reach(subschemas: readonly Subschema[], references: References): ReadonlySet<JsonSchema> {
  const applied = subschemas.filter(({ keys }) => keys[0] !== '$defs' && keys[0] !== 'definitions')
  const inner = Map.groupBy(applied, ({ parent }) => parent?.schema)
  const reached = new Set((inner.get(undefined) ?? []).map(({ schema }) => schema))
  // The set grows while it is read.
  for (const schema of reached) {
    for (const one of inner.get(schema) ?? []) reached.add(one.schema)
    const target = references.get(schema)
    if (target !== undefined) reached.add(target)
  }
  return reached
}

/** Returns the schemas of `allOf`, and the schemas of members or items that each value has. */
function needsOf(schema: JsonSchema): JsonSchema[] {
  const all = Array.isArray(schema['allOf']) ? schema['allOf'] : []
  const isGiven = 'const' in schema || 'enum' in schema
  return [...all, ...(isGiven ? [] : [...membersOf(schema), ...itemsOf(schema)])].filter(isJsonObject)
}

function membersOf(schema: JsonSchema): unknown[] {
  const { required, properties, patternProperties, additionalProperties } = schema
  if (!isOnly(schema, 'object') || !Array.isArray(required)) return []
  const known = isJsonObject(properties) ? properties : {}
  const other = isJsonObject(patternProperties) ? undefined : additionalProperties
  return required.map((name: string) => (Object.hasOwn(known, name) ? known[name] : other))
}

function itemsOf(schema: JsonSchema): unknown[] {
  const { minItems, items, prefixItems } = schema
  if (!isOnly(schema, 'array') || typeof minItems !== 'number') return []
  const list = Array.isArray(items) ? items : prefixItems
  const first: unknown[] = Array.isArray(list) ? list : []
  const others = minItems > first.length && !Array.isArray(items) ? [items] : []
  return [...first.slice(0, minItems), ...others]
}

/** A schema without a type that has keywords of objects or lists is meant for them, and the library reads it so. */
const isOnly = ({ type }: JsonSchema, name: string) =>
  type === undefined || type === name || (Array.isArray(type) && type.length === 1 && type[0] === name)
