import { isSchemaObject, toPointer, type SchemaProblem, type Subschema } from './collect-subschemas.ts'
import { readPattern } from './read-pattern.ts'

/** Measured: more of them, in one pattern or in all, and turning them into a grammar stops the engine for seconds. */
const MAX_REPEATED_IN_ONE = 1_000
const MAX_REPEATED_IN_ALL = 5_000

/**
 * Each `pattern` and each name under `patternProperties` must be a regular expression that the engine can hold an
 * output to.
 */
export function checkPatterns(subschemas: readonly Subschema[]): SchemaProblem | null {
  let repeated = 0
  for (const subschema of subschemas) {
    for (const { source, at } of patternsOf(subschema.schema)) {
      const read = isPattern(source) ? readPattern(source) : { problem: EXPECTED, repeated: 0 }
      repeated += read.repeated
      const isTooMuch = read.repeated > MAX_REPEATED_IN_ONE || repeated > MAX_REPEATED_IN_ALL
      const problem = read.problem ?? (isTooMuch ? TOO_MUCH : null)
      if (problem !== null) return { pointer: toPointer(subschema, ...at), text: problem }
    }
  }
  return null
}

const EXPECTED = 'expected a regular expression of ECMA-262'
const TOO_MUCH =
  `expected counts that repeat at most ${MAX_REPEATED_IN_ONE} steps, ${MAX_REPEATED_IN_ALL} in all patterns; ` +
  'counts within counts multiply'

function patternsOf({ pattern, patternProperties }: Subschema['schema']): { source: string; at: string[] }[] {
  const own = typeof pattern === 'string' ? [{ source: pattern, at: ['pattern'] }] : []
  const names = isSchemaObject(patternProperties) ? Object.keys(patternProperties) : []
  return [...own, ...names.map((name) => ({ source: name, at: ['patternProperties', name] }))]
}

/** With the flag `u`, as the specification wants it; many are written for engines that escape more freely. */
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
