import type { JsonSchema, SchemaProblem } from './json-schema.ts'
import type { References } from './references.ts'
import type { Subschema } from './subschemas.ts'

/** The most levels of objects and arrays in any schema that a request carries: deeper JSON can exhaust the stack. */
export const MAX_LEVELS = 100

/**
 * The amounts that the grammars of one request contain, added up by the checks so far. The limits of these amounts
 * apply to all grammars of a request together, because an engine compiles one grammar after the other, and does nothing
 * else meanwhile.
 */
export type GrammarUse = {
  values: number
  characters: number
  /** Steps of patterns that quantifiers such as `{3}` repeat. */
  repeatedSteps: number
  /** Optional properties of objects with `minProperties` or `maxProperties`. */
  countedProperties: number
  /** Levels of the schemas that a `$ref` names. */
  referredLevels: number
}

export const noGrammars = (): GrammarUse => ({
  values: 0,
  characters: 0,
  repeatedSteps: 0,
  countedProperties: 0,
  referredLevels: 0,
})

/**
 * The most characters in all schemas and other grammars of a request. Measured: a grammar with one string of 500,000
 * characters keeps an engine from all other work for 30 s.
 */
export const MAX_GRAMMAR_CHARACTERS = 200_000

/**
 * Bounds within which an engine compiles grammars in a reasonable time. `levels` is the bound of each single schema.
 * The other bounds are for all schemas of a request together.
 */
const GRAMMAR_LIMITS: Limits = {
  /** vLLM refuses deeper schemas, counted in the same way. */
  levels: 64,
  /** A tool of 1,000 arguments has about 5,000 values. */
  values: 20_000,
  characters: MAX_GRAMMAR_CHARACTERS,
}

/**
 * The most levels that all schemas named by a `$ref` may have together. Measured: the number of levels at which the
 * engine's process begins to die is between 4,000 and 8,000.
 */
const MAX_REFERRED_LEVELS = 2_000

type Limits = {
  /** Nested objects and arrays. */
  readonly levels: number
  readonly values: number
  /** Characters of names and strings. */
  readonly characters: number
}

export function isWithinLevels(schema: JsonSchema, levels: number): boolean {
  return findExceeded(schema, { levels, values: Infinity, characters: Infinity }, noGrammars()) === null
}

/**
 * Returns a problem if the schema is too expensive for the engine to compile. `text` is the schema's JSON. The caller
 * gives it if the JSON may have numbers with more digits than in the parsed schema. Long numbers in `text` count as
 * characters.
 */
export function checkSize(schema: JsonSchema, use: GrammarUse, text = ''): SchemaProblem | null {
  for (const [number] of text.matchAll(LONG_NUMBER)) use.characters += number.length
  const exceeded = findExceeded(schema, GRAMMAR_LIMITS, use)
  if (exceeded === null) return null
  const unit =
    exceeded === 'levels' ? 'levels of objects and arrays' : `${exceeded} in all schemas of the request`
  return { pointer: '#', text: `expected at most ${GRAMMAR_LIMITS[exceeded]} ${unit}` }
}

/** A number of at least 16 characters: a double may not preserve its digits. */
const LONG_NUMBER = /\d[\d.]{15,}/g

/** Counts level by level, without recursion, because the depth is not known to be safe yet. */
function findExceeded(
  schema: JsonSchema,
  limits: Limits,
  use: Pick<GrammarUse, 'values' | 'characters'>,
): keyof Limits | null {
  let level: unknown[] = [schema]
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels === limits.levels) return 'levels'
    const next: unknown[] = []
    for (const parent of level) {
      const entries = Object.entries(Object(parent))
      use.values += entries.length
      for (const [key, value] of entries) {
        use.characters += key.length
        if (typeof value === 'string') use.characters += value.length
        else if (typeof value === 'object' && value !== null) next.push(value)
      }
      if (use.values > limits.values) return 'values'
      if (use.characters > limits.characters) return 'characters'
    }
    level = next
  }
  return null
}

/**
 * Returns a problem if the schemas' references lead too deep. The grammar library's compiler enters the target of each
 * `$ref` from within another schema, and each target only once. The order in which it enters the targets is not
 * specified, so in the worst case the compiler goes as deep as the sum of the levels of all targets.
 */
export function checkReferredLevels(
  subschemas: readonly Subschema[],
  references: References,
  use: GrammarUse,
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
  for (const own of levels.values()) use.referredLevels += own
  if (use.referredLevels <= MAX_REFERRED_LEVELS) return null
  const text = `expected at most ${MAX_REFERRED_LEVELS} levels in all schemas that a $ref names`
  return { pointer: '#', text }
}
