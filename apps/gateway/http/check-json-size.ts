/**
 * The deepest nesting that a body may have. It is deeper than any field of the interface, and shallow enough for every
 * recursive function that reads bodies.
 */
const MAX_LEVELS = 256

/**
 * The most values that a body may have. This is enough for 100,000 messages and 10,000 tools together. More parsed
 * values would fill the heap.
 */
const MAX_VALUES = 1_000_000

/**
 * Returns a description of the limit that a JSON text exceeds, the depth or the number of values; null if it exceeds
 * neither. The brackets and commas are counted before the text is parsed, because a parser takes seconds and gigabytes
 * for a body of brackets alone. For text that is not JSON the result means nothing; the parser refuses such text.
 */
export function checkJsonSize(json: Buffer, { maxValues = MAX_VALUES } = {}): string | null {
  let levels = 0
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) at = endOfString(json, at)
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      levels += 1
      values += 1
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) levels -= 1
    else if (byte === COMMA) values += 1
    if (levels > MAX_LEVELS) return `nested more than ${MAX_LEVELS} levels deep`
    if (values > maxValues) return `of more than ${maxValues} values`
  }
  return null
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Returns the end of the string that begins with the quote at `start`: a quote after an even number of backslashes. */
function endOfString(json: Buffer, start: number): number {
  for (let quote = json.indexOf(QUOTE, start + 1); quote >= 0; quote = json.indexOf(QUOTE, quote + 1)) {
    let backslashes = 0
    while (json[quote - 1 - backslashes] === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return quote
  }
  return json.length
}
