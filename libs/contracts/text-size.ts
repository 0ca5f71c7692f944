/**
 * Counts the text in a request, at any depth: every key, every value that is no object or list, and `ENTRY` for each
 * entry of an object or a list. No field is left out. A list of the counted fields would miss fields that are added
 * later, and text that is not counted is neither paid for nor bounded.
 */

/** About as many characters as JSON or a template writes around each entry: quotes, separators. */
const ENTRY = 3

/** The bytes of the text in `value`, as UTF-8. */
export function textBytes(value: unknown): number {
  return measure(value, { lengthOf: (text) => Buffer.byteLength(text), most: Infinity })
}

/** The characters (UTF-16) of the text in `value`. */
export function textCharacters(value: unknown): number {
  return measure(value, { lengthOf: (text) => text.length, most: Infinity })
}

/** Returns whether `value` has more than `most` characters of text. Stops counting as soon as the answer is known. */
export function hasMoreCharacters(value: unknown, most: number): boolean {
  return measure(value, { lengthOf: (text) => text.length, most }) > most
}

/** Counts without recursion, because a caller's schema may be deep. */
function measure(
  value: unknown,
  { lengthOf, most }: { lengthOf: (text: string) => number; most: number },
): number {
  const open: unknown[] = [value]
  let size = 0
  while (open.length > 0 && size <= most) {
    const next = open.pop()
    if (typeof next === 'string') size += lengthOf(next)
    else if (Array.isArray(next)) {
      size += ENTRY * next.length
      if (size <= most) for (const item of next) open.push(item)
    } else if (typeof next === 'object' && next !== null) {
      for (const [key, inner] of Object.entries(next)) {
        if (inner === undefined) continue
        size += ENTRY + lengthOf(key)
        open.push(inner)
      }
    } else size += String(next).length
  }
  return size
}
