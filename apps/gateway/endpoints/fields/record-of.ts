import { z } from 'zod'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { parsePart } from '#libs/http-contract/parse-part.ts'

/**
 * Returns the schema of an object whose property names the client chooses. The object is a part of a request. As in
 * `listOf`, the number of properties is checked first, against `most`. Then the properties are checked one by one, up
 * to the first wrong one. A wrong value is refused with the text of the schema `value`. Every other refusal has the
 * text `expected`.
 */
export function recordOf<Value extends z.ZodType>(
  { name, value }: { name: z.ZodType<string>; value: Value },
  { expected, most }: { expected: string; most: number },
) {
  return z
    .record(z.string(), z.unknown(), expected)
    .transform((record, context): Record<string, z.output<Value>> => {
      const refuse = (path: readonly string[]) => {
        context.addIssue({ code: 'custom', message: expected, path: [...path] })
        return z.NEVER
      }
      const given = Object.entries(record)
      if (given.length > most) return refuse([])
      const entries: [string, z.output<Value>][] = []
      for (const [key, one] of given) {
        if (!name.safeParse(key).success) return refuse([key])
        const parsed = parsePart(value, one, { path: [key], context })
        if (parsed === undefined) return z.NEVER
        entries.push([key, parsed])
      }
      return Object.fromEntries(entries)
    })
    .meta({
      propertyNames: documentedAs(name),
      additionalProperties: documentedAs(value),
      maxProperties: most,
    })
}
