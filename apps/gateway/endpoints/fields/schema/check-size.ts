import type { SchemaObject, SchemaProblem } from './collect-subschemas.ts'

/** As vLLM counts them; it refuses deeper ones. */
const MAX_LEVELS = 64
/** A tool of a thousand arguments has about five thousand values. */
const MAX_VALUES = 20_000
/** One text of half a million keeps an engine from all other work for half a minute. */
const MAX_CHARACTERS = 200_000

/** Refuses what would cost the engine more to turn into a grammar than any use of it is worth. */
export function checkSize(schema: SchemaObject): SchemaProblem | null {
  let values = 0
  let characters = 0
  let level: unknown[] = [schema]
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels === MAX_LEVELS) return tooLarge(`${MAX_LEVELS} levels of objects and arrays`)
    const next: unknown[] = []
    for (const holder of level) {
      const entries = Object.entries(Object(holder))
      values += entries.length
      for (const [key, value] of entries) {
        characters += key.length
        if (typeof value === 'string') characters += value.length
        else if (typeof value === 'object' && value !== null) next.push(value)
      }
      if (values > MAX_VALUES) return tooLarge(`${MAX_VALUES} values`)
      if (characters > MAX_CHARACTERS) return tooLarge(`${MAX_CHARACTERS} characters`)
    }
    level = next
  }
  return null
}

function tooLarge(limit: string): SchemaProblem {
  return { pointer: '#', text: `expected at most ${limit}` }
}
