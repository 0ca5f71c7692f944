export type SchemaObject = Readonly<Record<string, unknown>>

/** What is wrong, and where, as a JSON pointer from the schema's root. */
export type SchemaProblem = { readonly pointer: string; readonly text: string }

/** One schema within another. Schemas that are true or false have nothing to check and are left out. */
export type Subschema = {
  readonly schema: SchemaObject
  readonly parent: Subschema | null
  /** The keyword under which the parent holds it, and the name or number behind that if there are several. */
  readonly keys: readonly (string | number)[]
  /** It speaks of the same value as its parent, not of one inside it. */
  readonly inPlace: boolean
}

/** They hold an object of schemas by name. */
const BY_NAME = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
])

/** What they hold speaks of the same value. */
const IN_PLACE = new Set([
  'allOf',
  'anyOf',
  'dependencies',
  'dependentSchemas',
  'else',
  'if',
  'not',
  'oneOf',
  'then',
])

/** All keywords of 2020-12 and draft 7 that hold schemas. */
const HOLDERS = new Set([
  ...BY_NAME,
  ...IN_PLACE,
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'items',
  'prefixItems',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/**
 * The schema and all within it, parents first. A `$ref` under `properties` or in an `enum` is not one: what is
 * a name or a value is not looked into.
 */
export function collectSubschemas(root: SchemaObject): Subschema[] {
  const found: Subschema[] = [{ schema: root, parent: null, keys: [], inPlace: false }]
  // The list grows while it is read.
  for (const parent of found) {
    for (const keyword of Object.keys(parent.schema)) {
      if (HOLDERS.has(keyword)) for (const inner of heldBy(parent, keyword)) found.push(inner)
    }
  }
  return found
}

function heldBy(parent: Subschema, keyword: string): Subschema[] {
  const held = parent.schema[keyword]
  const inPlace = IN_PLACE.has(keyword)
  if (!isSchemaObject(held)) {
    const list: unknown[] = Array.isArray(held) ? held : []
    return list.flatMap((schema, i) =>
      isSchemaObject(schema) ? [{ schema, parent, keys: [keyword, i], inPlace }] : [],
    )
  }
  if (!BY_NAME.has(keyword)) return [{ schema: held, parent, keys: [keyword], inPlace }]
  return Object.entries(held).flatMap(([name, schema]) =>
    isSchemaObject(schema) ? [{ schema, parent, keys: [keyword, name], inPlace }] : [],
  )
}

/** The place of a keyword in a subschema. */
export function toPointer(subschema: Subschema, ...keyword: readonly string[]): string {
  const keys: (string | number)[] = [...keyword]
  for (let at: Subschema | null = subschema; at !== null; at = at.parent) keys.unshift(...at.keys)
  return ['#', ...keys.map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/')
}

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
