import { z } from 'zod'

const MAX_SCHEMA_DEPTH = 100

/** A JSON schema by its outside: an object that can be written as JSON without exhausting the stack. */
export const JsonSchema = z
  .record(z.string(), z.unknown(), 'expected a JSON schema')
  .refine((schema) => isWithinDepth(schema, MAX_SCHEMA_DEPTH), {
    error: `expected a JSON schema of at most ${MAX_SCHEMA_DEPTH} levels`,
  })

function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isWithinDepth(inner, levels - 1))
}
