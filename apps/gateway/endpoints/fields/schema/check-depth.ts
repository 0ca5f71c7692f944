import type { References } from './check-references.ts'
import type { SchemaObject, SchemaProblem, Subschema } from './collect-subschemas.ts'

/** The engine's grammar library ends its whole process when its stack does: between 4,000 and 8,000 levels. */
const MAX_LEVELS = 2_000

/**
 * Refuses schemas whose references lead too deep. Whoever follows them enters each referred schema once, from within
 * another: together they can be as deep as the sum of their levels, and in which order they are entered is not
 * ours to know.
 */
export function checkDepth(subschemas: readonly Subschema[], references: References): SchemaProblem | null {
  const levels = new Map<SchemaObject, number>([...references.values()].map((target) => [target, 1]))
  for (const subschema of subschemas) {
    let below = 1
    for (let at: Subschema | null = subschema; at !== null; at = at.parent) {
      const known = levels.get(at.schema)
      if (known !== undefined) levels.set(at.schema, Math.max(known, below))
      below += 1
    }
  }
  const sum = [...levels.values()].reduce((total, own) => total + own, 0)
  if (sum <= MAX_LEVELS) return null
  return { pointer: '#', text: `expected at most ${MAX_LEVELS} levels in all schemas that a $ref names` }
}
