import {
  isSchemaObject,
  toPointer,
  type SchemaObject,
  type SchemaProblem,
  type Subschema,
} from './collect-subschemas.ts'

/** Which schema a schema's `$ref` names. */
export type References = ReadonlyMap<SchemaObject, SchemaObject>

/**
 * Follows each `$ref`. Only `#` and `#/…` are served: an engine fetches nothing, and its grammar library knows
 * neither anchors nor ids inside a schema.
 */
export function checkReferences(
  root: SchemaObject,
  subschemas: readonly Subschema[],
): { problem: SchemaProblem | null; references: References } {
  const known = new Set(subschemas.map(({ schema }) => schema))
  const references = new Map<SchemaObject, SchemaObject>()
  const refuse = (subschema: Subschema, keyword: string, text: string) => ({
    problem: { pointer: toPointer(subschema, keyword), text },
    references,
  })
  for (const subschema of subschemas) {
    const { schema, parent } = subschema
    for (const keyword of ['$dynamicRef', '$recursiveRef']) {
      if (keyword in schema) return refuse(subschema, keyword, 'expected $ref; no other reference is served')
    }
    if (parent !== null && '$id' in schema) {
      return refuse(subschema, '$id', 'expected an $id at the root alone')
    }
    const reference = schema['$ref']
    if (typeof reference !== 'string') continue
    const steps = toSteps(reference)
    if (steps === null) return refuse(subschema, '$ref', 'expected a reference within the schema, # or #/…')
    const target = follow(root, steps)
    if (target === false) return refuse(subschema, '$ref', 'no value fits false')
    if (target === true) continue
    if (!isSchemaObject(target) || !known.has(target)) {
      return refuse(subschema, '$ref', 'it points at no schema')
    }
    references.set(schema, target)
  }
  return { problem: null, references }
}

/** The steps of a JSON pointer in a URI's fragment; null for any other reference. */
function toSteps(reference: string): string[] | null {
  if (reference === '#') return []
  if (!reference.startsWith('#/')) return null
  try {
    const steps = decodeURIComponent(reference.slice(2)).split('/')
    return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  } catch {
    return null
  }
}

function follow(root: SchemaObject, steps: readonly string[]): unknown {
  let target: unknown = root
  for (const step of steps) {
    const holder = Object(target)
    target = Object.hasOwn(holder, step) ? holder[step] : undefined
  }
  return target
}
