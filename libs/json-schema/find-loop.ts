import type { JsonSchema, SchemaProblem } from './json-schema.ts'
import type { References } from './references.ts'
import { toPointer, type Subschema } from './subschemas.ts'

/**
 * Finds a schema that refers back to itself for the same value (`{"$ref":"#"}`, a → b → a), so that following its
 * references never ends. A schema is allowed to refer to itself through `properties` or `items`, as schemas of trees
 * and lists do. The depth-first search keeps its own stack, because a chain of references may be as long as the schema.
 */
export function findLoop(subschemas: readonly Subschema[], references: References): SchemaProblem | null {
  if (references.size === 0) return null
  const inside = new Map<JsonSchema, JsonSchema[]>()
  const link = (from: JsonSchema, to: JsonSchema) => {
    const known = inside.get(from)
    if (known === undefined) inside.set(from, [to])
    else known.push(to)
  }
  for (const [schema, target] of references) link(schema, target)
  for (const { schema, parent, inPlace } of subschemas)
    if (inPlace && parent !== null) link(parent.schema, schema)

  const done = new Set<JsonSchema>()
  // Every loop contains a reference.
  for (const start of references.keys()) {
    const open = new Set<JsonSchema>()
    const stack = [{ schema: start, leaves: false }]
    for (let step = stack.pop(); step !== undefined; step = stack.pop()) {
      const { schema, leaves } = step
      if (leaves) {
        open.delete(schema)
        done.add(schema)
      } else if (open.has(schema)) {
        const place = subschemas.find((subschema) => subschema.schema === schema)
        return {
          pointer: place === undefined ? '#' : toPointer(place),
          text: 'it refers to itself without end',
        }
      } else if (!done.has(schema)) {
        open.add(schema)
        stack.push({ schema, leaves: true })
        for (const next of inside.get(schema) ?? []) stack.push({ schema: next, leaves: false })
      }
    }
  }
  return null
}
