import type { JsonSchema, SchemaProblem } from './json-schema.ts'
import type { References } from './references.ts'
import type { Subschema } from './subschemas.ts'

/** Levels of objects and arrays in any schema that a request carries: deeper JSON can exhaust the stack. */
export const MAX_LEVELS = 100

/** What an engine compiles into a grammar within a reasonable time. */
const GRAMMAR_LIMITS: Limits = {
  /** vLLM refuses deeper schemas, counted in the same way. */
  levels: 64,
  /** A tool of 1,000 arguments has about 5,000 values. */
  values: 20_000,
  /** Measured: one text of 500,000 characters keeps an engine from all other work for 30 s. */
  characters: 200_000,
}

/** Levels over all schemas that references name. Measured: the engine's process dies of 4,000 to 8,000. */
const MAX_REFERRED_LEVELS = 2_000

type Limits = {
  /** Objects and arrays within each other. */
  readonly levels: number
  readonly values: number
  /** Of names and strings. */
  readonly characters: number
}

export function isWithinLevels(schema: JsonSchema, levels: number): boolean {
  return findExceeded(schema, { levels, values: Infinity, characters: Infinity }) === null
}

/** Rejects schemas that cost the engine more to compile than any use of them is worth. */
export function checkSize(schema: JsonSchema): SchemaProblem | null {
  const exceeded = findExceeded(schema, GRAMMAR_LIMITS)
  if (exceeded === null) return null
  const unit = exceeded === 'levels' ? 'levels of objects and arrays' : exceeded
  return { pointer: '#', text: `expected at most ${GRAMMAR_LIMITS[exceeded]} ${unit}` }
}

/** Level by level, without recursion: the depth is not known to be safe yet. */
function findExceeded(schema: JsonSchema, limits: Limits): keyof Limits | null {
  let values = 0
  let characters = 0
  let level: unknown[] = [schema]
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels === limits.levels) return 'levels'
    const next: unknown[] = []
    for (const parent of level) {
      const entries = Object.entries(Object(parent))
      values += entries.length
      for (const [key, value] of entries) {
        characters += key.length
        if (typeof value === 'string') characters += value.length
        else if (typeof value === 'object' && value !== null) next.push(value)
      }
      if (values > limits.values) return 'values'
      if (characters > limits.characters) return 'characters'
    }
    level = next
  }
  return null
}

/**
 * Rejects schemas whose references lead too deep. The grammar library's compiler enters each referred schema once,
 * from within another, in an order that is not specified: so the depth is at most the sum of their levels.
 */
export function checkReferredLevels(
  subschemas: readonly Subschema[],
  references: References,
): SchemaProblem | null {
  const levels = new Map<JsonSchema, number>([...references.values()].map((target) => [target, 1]))
  for (const subschema of subschemas) {
    let below = 1
    for (let at: Subschema | null = subschema; at !== null; at = at.parent) {
      const known = levels.get(at.schema)
      if (known !== undefined) levels.set(at.schema, Math.max(known, below))
      below += 1
    }
  }
  const sum = [...levels.values()].reduce((total, own) => total + own, 0)
  if (sum <= MAX_REFERRED_LEVELS) return null
  const text = `expected at most ${MAX_REFERRED_LEVELS} levels in all schemas that a $ref names`
  return { pointer: '#', text }
}
