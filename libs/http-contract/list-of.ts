import { z } from 'zod'
import { documentedAs } from './documented-as.ts'
import { parsePart } from './parse-part.ts'

/** A bound on the number of entries, and the text of the refusal. */
type Bound = readonly [count: number, text: string]

/**
 * Returns the schema of a list in a request. The number of entries is checked first. Then the entries are checked one
 * by one, up to the first wrong one. This function exists because `z.array` makes an issue for each wrong entry,
 * although only the first issue is shown. If all entries of a large body are wrong, `z.array` takes a thousand times as
 * long as this function.
 */
export function listOf<Entry extends z.ZodType>(
  entry: Entry,
  { expected, least, most }: { expected: string; least?: Bound; most?: Bound },
) {
  return z
    .array(z.unknown(), expected)
    .transform((list, context): z.output<Entry>[] => {
      const refuse = (text: string) => {
        context.addIssue({ code: 'custom', message: text })
        return z.NEVER
      }
      if (least !== undefined && list.length < least[0]) return refuse(least[1])
      if (most !== undefined && list.length > most[0]) return refuse(most[1])
      const entries: z.output<Entry>[] = []
      for (const [index, value] of list.entries()) {
        const parsed = parsePart(entry, value, { path: [index], context })
        if (parsed === undefined) return z.NEVER
        entries.push(parsed)
      }
      return entries
    })
    .meta({
      items: documentedAs(entry),
      ...(least !== undefined && { minItems: least[0] }),
      ...(most !== undefined && { maxItems: most[0] }),
    })
}
