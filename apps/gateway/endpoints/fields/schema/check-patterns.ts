import { isJsonObject, type SchemaProblem } from '#libs/json-schema/json-schema.ts'
import type { GrammarUse } from '#libs/json-schema/limits.ts'
import { toPointer, type Subschema } from '#libs/json-schema/subschemas.ts'
import { readPattern } from './read-pattern.ts'

/**
 * A counted repetition such as `{50}` adds steps to the pattern. These are the largest numbers of added steps, in one
 * pattern and in all patterns of a request. Measured: if there are more steps, compiling them stops the engine for
 * seconds.
 */
const MAX_REPEATED_IN_ONE = 1_000
const MAX_REPEATED_IN_ALL = 5_000

/** Rejects each `pattern` and each name under `patternProperties` that the engine cannot compile into a grammar. */
export function checkPatterns(subschemas: readonly Subschema[], use: GrammarUse): SchemaProblem | null {
  for (const subschema of subschemas) {
    for (const { source, at } of patternsOf(subschema.schema)) {
      const problem = findPatternProblem(source, use, { isInJson: true })
      if (problem !== null) return { pointer: toPointer(subschema, ...at), text: problem }
    }
  }
  return null
}

/**
 * Returns the reason why the engine cannot compile a pattern in reasonable time, or null. Adds the pattern's
 * repetitions to `use`.
 */
export function findPatternProblem(
  source: string,
  use: GrammarUse,
  { isInJson }: { isInJson: boolean },
): string | null {
  if (!isPattern(source)) return EXPECTED
  const { problem, repeated } = readPattern(source, { isInJson })
  return problem ?? findRepetitionProblem(repeated, use)
}

export function findRepetitionProblem(repeated: number, use: GrammarUse): string | null {
  use.repeatedSteps += repeated
  return repeated > MAX_REPEATED_IN_ONE || use.repeatedSteps > MAX_REPEATED_IN_ALL ? TOO_MUCH : null
}

const EXPECTED = 'expected a regular expression of ECMA-262'
const TOO_MUCH =
  `expected counts that repeat at most ${MAX_REPEATED_IN_ONE} steps, ${MAX_REPEATED_IN_ALL} in all patterns; ` +
  'counts within counts multiply'

function patternsOf({ pattern, patternProperties }: Subschema['schema']): { source: string; at: string[] }[] {
  const own = typeof pattern === 'string' ? [{ source: pattern, at: ['pattern'] }] : []
  const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : []
  return [...own, ...names.map((name) => ({ source: name, at: ['patternProperties', name] }))]
}

/** The specification requires the flag `u`, but many patterns use escapes that are valid only without it. */
function isPattern(source: string): boolean {
  return canParse(source, 'u') || canParse(source, '')
}

function canParse(source: string, flags: 'u' | ''): boolean {
  try {
    new RegExp(source, flags)
    return true
  } catch {
    return false
  }
}
