import { z } from 'zod'

/**
 * Text, or an array of text parts of the given types (each dialect has its own names for them). Nothing is put
 * between parts that the caller did not write.
 */
export function textContent<const Types extends readonly [string, ...string[]]>(types: Types) {
  const Part = z.object({ type: z.enum(types), text: z.string() })
  return z.union(
    [z.string(), z.array(Part).transform((parts) => parts.map((part) => part.text).join(''))],
    `expected text, or an array of parts {"type":"${types[0]}","text":…}`,
  )
}
