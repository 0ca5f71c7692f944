import type { JsonSchema } from '../engine-constraint.ts'
import { isSchema, mapSubschemas } from './map-subschemas.ts'

/**
 * Gives every schema that a `$ref` names a plain name under `$defs`: the engine's grammar library reads neither
 * `~1` nor `%20` in a name, and finds no way through lists (`#/anyOf/0`).
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
    // Known before it is looked into: it may refer to itself.
    pointers.set(reference, pointer)
    const target = follow(root, reference)
    named.push([name, isSchema(target) ? rename(target) : target])
    return pointer
  }

  const renamed = rename(root)
  if (named.length === 0) return root
  return { ...renamed, $defs: { ...Object(renamed['$defs']), ...Object.fromEntries(named) } }
}

/** No schema names its own like this. */
const PREFIX = 'millrace-reference-'

/** The library follows it: through objects alone, by names that are written as they are. */
function isPlain(reference: string): boolean {
  return /^#(?:\/(?!\d+(?:\/|$))[^/~%]*)*$/.test(reference)
}

function follow(root: JsonSchema, reference: string): unknown {
  let target: unknown = root
  for (const step of decodeURIComponent(reference.slice(2)).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    const holder = Object(target)
    target = Object.hasOwn(holder, name) ? holder[name] : undefined
  }
  return target
}
