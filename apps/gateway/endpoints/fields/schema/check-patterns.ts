import { isSchemaObject, toPointer, type SchemaProblem, type Subschema } from './collect-subschemas.ts'

/** Each `pattern` and each name under `patternProperties` must be a regular expression. */
export function checkPatterns(subschemas: readonly Subschema[]): SchemaProblem | null {
  for (const subschema of subschemas) {
    const { pattern, patternProperties } = subschema.schema
    if (typeof pattern === 'string' && !isPattern(pattern)) {
      return { pointer: toPointer(subschema, 'pattern'), text: EXPECTED }
    }
    if (!isSchemaObject(patternProperties)) continue
    const wrong = Object.keys(patternProperties).find((name) => !isPattern(name))
    if (wrong !== undefined) {
      return { pointer: toPointer(subschema, 'patternProperties', wrong), text: EXPECTED }
    }
  }
  return null
}

const EXPECTED = 'expected a regular expression of ECMA-262'

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
