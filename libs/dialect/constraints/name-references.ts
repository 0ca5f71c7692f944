import { isJsonObject, type JsonSchema } from '#libs/json-schema/json-schema.ts'
import { resolveReference } from '#libs/json-schema/references.ts'
import { mapSubschemas } from '#libs/json-schema/subschemas.ts'

/**
 * Replaces each `$ref` that the engine's grammar library cannot follow. The schema to which the `$ref` points is copied
 * to `$defs` under a plain name, and the `$ref` gets this name. The library reads neither `~1` nor `%20` in a name, and
 * cannot follow a reference through a list (`#/anyOf/0`). Other references stay unchanged.
 */
export function nameReferences(root: JsonSchema): JsonSchema {
  const pointers = new Map<string, string>()
  const named: [name: string, schema: unknown][] = []

  function rename(schema: JsonSchema): JsonSchema {
    const reference = schema['$ref']
    const renamed = mapSubschemas(schema, rename)
    if (typeof reference !== 'string' || isPlain(reference)) return renamed
    return { ...renamed, $ref: pointers.get(reference) ?? nameTarget(reference) }
  }

  function nameTarget(reference: string): string {
    const name = `${PREFIX}${pointers.size + 1}`
    const pointer = `#/$defs/${name}`
    // Stored before the target is renamed, because the target may refer to itself.
    pointers.set(reference, pointer)
    const target = resolveReference(root, reference)
    named.push([name, isJsonObject(target) ? rename(target) : target])
    return pointer
  }

  const renamed = rename(root)
  if (named.length === 0) return root
  return { ...renamed, $defs: { ...Object(renamed['$defs']), ...Object.fromEntries(named) } }
}

/** Callers' own names are not expected to begin with this. */
const PREFIX = 'millrace-reference-'

/** Returns whether the grammar library can follow a reference: through objects alone, by names without escapes. */
function isPlain(reference: string): boolean {
  return /^#(?:\/(?!\d+(?:\/|$))[^/~%]*)*$/.test(reference)
}
