import type { z } from 'zod'
import { parsePart } from '#libs/http-contract/parse-part.ts'

/**
 * Parses a value that a client may send in either of two forms: nested, as the field `nestedUnder` of `outer`, or
 * flat, with its fields directly in `outer`. If the value is wrong, adds its first issue to `context`, with its path in
 * the form of the client, and returns undefined. A zod union of both forms would not report which field is wrong.
 */
export function parseEitherForm<Schema extends z.ZodType>(
  schema: Schema,
  outer: Readonly<Record<string, unknown>>,
  { nestedUnder, context }: { nestedUnder: string; context: z.core.$RefinementCtx },
): z.output<Schema> | undefined {
  const nested = outer[nestedUnder] !== undefined && outer[nestedUnder] !== null
  const [part, path] = nested ? [outer[nestedUnder], [nestedUnder]] : [outer, []]
  return parsePart(schema, part, { path, context })
}
