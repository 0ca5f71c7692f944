import { z } from 'zod'
import { isWithinLevels, MAX_LEVELS } from '#libs/json-schema/limits.ts'

/** An object that can be written as JSON without exhausting the stack; its keywords are not checked. */
export const JsonSchema = z
  .record(z.string(), z.unknown(), 'expected a JSON schema')
  .refine((schema) => isWithinLevels(schema, MAX_LEVELS), {
    error: `expected a JSON schema of at most ${MAX_LEVELS} levels`,
  })
