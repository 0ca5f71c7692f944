import { isJsonObject, type JsonSchema, type SchemaProblem } from './json-schema.ts'
import { toPointer, type Subschema } from './subschemas.ts'

/** From each schema that has a `$ref` to the schema that it names. */
export type References = ReadonlyMap<JsonSchema, JsonSchema>

/** Returns the value in `root` that a `$ref` names; undefined if there is none, or if it is outside the schema. */
export function resolveReference(root: unknown, reference: string): unknown {
  const steps = toSteps(reference)
  return steps === null ? undefined : follow(root, steps)
}

/**
 * Resolves each `$ref`, and returns the first unsupported reference or `$id` as `problem`. Only `$ref` with `#` or
 * `#/…` is supported: engines fetch nothing, and their grammar library (xgrammar) reads neither anchors nor an `$id`
 * inside a schema.
 */
export function checkReferences(
  root: JsonSchema,
  subschemas: readonly Subschema[],
): { problem: SchemaProblem | null; references: References } {
  const known = new Set(subschemas.map(({ schema }) => schema))
  const references = new Map<JsonSchema, JsonSchema>()
  const refuse = (subschema: Subschema, keyword: string, text: string) => ({
    problem: { pointer: toPointer(subschema, keyword), text },
    references,
  })
  for (const subschema of subschemas) {
    const { schema, parent } = subschema
    for (const keyword of ['$dynamicRef', '$recursiveRef']) {
      if (keyword in schema) {
        return refuse(subschema, keyword, 'expected $ref; no other reference is supported')
      }
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
    if (!isJsonObject(target) || !known.has(target)) {
      return refuse(subschema, '$ref', 'it points at no schema')
    }
    references.set(schema, target)
  }
  return { problem: null, references }
}

/** The steps of a JSON pointer in a URI's fragment (RFC 6901, section 6); null for any other reference. */
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

function follow(root: unknown, steps: readonly string[]): unknown {
  let target = root
  for (const step of steps) {
    const parent = Object(target)
    target = Object.hasOwn(parent, step) ? parent[step] : undefined
  }
  return target
}
