import { z } from 'zod'

/**
 * Returns the JSON schema of the input of `schema`. It is meant for the `.meta()` of another schema whose checks cannot
 * be written as JSON schema, such as a transform that reads two dialects, or a transform from a string to an array.
 * `schema` must not be stricter than the checks of that other schema.
 */
export function documentedAs(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...documented } = z.toJSONSchema(schema, { io: 'input' })
  return documented
}
