import { z } from 'zod'

/**
 * Parses `part`, which stands at `path` in the value that `context` checks. If the part is wrong, adds its first issue
 * to `context`, with the path in the whole value, and returns undefined. A caller is shown one issue only, so no more
 * are collected.
 */
export function parsePart<Schema extends z.ZodType>(
  schema: Schema,
  part: unknown,
  { path, context }: { path: readonly PropertyKey[]; context: z.core.$RefinementCtx },
): z.output<Schema> | undefined {
  const result = schema.safeParse(part)
  if (result.success) return result.data
  const [issue] = result.error.issues
  context.addIssue({
    code: 'custom',
    message: issue?.message ?? 'expected another value',
    path: [...path, ...(issue?.path ?? [])],
  })
  return undefined
}
