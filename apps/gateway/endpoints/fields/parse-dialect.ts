import type { z } from 'zod'

/**
 * Parses a value that one dialect nests under `nestedUnder` and the other writes flat into `outer`. Adds the issues
 * with their paths in the caller's dialect to `context`, and returns undefined if there are any. A zod union of both
 * dialects would not report which field is wrong.
 */
export function parseDialect<Schema extends z.ZodType>(
  schema: Schema,
  outer: Readonly<Record<string, unknown>>,
  { nestedUnder, context }: { nestedUnder: string; context: z.core.$RefinementCtx },
): z.output<Schema> | undefined {
  const nested = outer[nestedUnder] !== undefined && outer[nestedUnder] !== null
  const result = schema.safeParse(nested ? outer[nestedUnder] : outer)
  if (result.success) return result.data
  for (const issue of result.error.issues) {
    context.addIssue({
      code: 'custom',
      message: issue.message,
      path: nested ? [nestedUnder, ...issue.path] : issue.path,
    })
  }
  return undefined
}
