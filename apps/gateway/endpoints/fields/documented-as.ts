import { z } from 'zod'

/**
 * The JSON schema of what `schema` reads, to be given to `.meta()` of one whose own checks JSON schema cannot
 * express: a transform that reads two dialects, or text that becomes an array. It is never stricter than the check.
 */
export function documentedAs(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...documented } = z.toJSONSchema(schema, { io: 'input' })
  return documented
}
