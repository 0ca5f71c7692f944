import type { z } from 'zod'

/**
 * Parses a part of a field that callers nest in one dialect and write flat in the other. A union of both would
 * tell neither what is wrong nor where; here the issues come out with the path that the caller wrote. Returns
 * undefined when there are any.
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
