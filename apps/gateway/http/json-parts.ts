/**
 * Returns the texts of the members of a JSON object, by name, or of the elements of an array, by index. If a name is
 * repeated, its last member counts, as with `JSON.parse`. The text must be valid JSON. For a value that is neither an
 * object nor an array, returns an empty map.
 */
export function jsonParts(json: string): Map<string, string> {
  const parts = new Map<string, string>()
  const begin = skipBlanks(json, 0)
  const isObject = json.charCodeAt(begin) === OPEN_BRACE
  if (!isObject && json.charCodeAt(begin) !== OPEN_BRACKET) return parts
  let at = skipBlanks(json, begin + 1)
  while (at < json.length && !isCloser(json.charCodeAt(at))) {
    let name = String(parts.size)
    if (isObject) {
      const end = endOfString(json, at)
      name = String(JSON.parse(json.slice(at, end)))
      at = skipBlanks(json, skipBlanks(json, end) + 1)
    }
    const end = endOfValue(json, at)
    parts.set(name, json.slice(at, end).trimEnd())
    at = json.charCodeAt(end) === COMMA ? skipBlanks(json, end + 1) : end
  }
  return parts
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

const isCloser = (code: number): boolean => code === CLOSE_BRACE || code === CLOSE_BRACKET

/** Returns the index of the comma or bracket after a value, or the text's length. */
function endOfValue(json: string, start: number): number {
  let levels = 0
  for (let at = start; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfString(json, at) - 1
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) levels += 1
    else if (levels === 0 && (code === COMMA || isCloser(code))) return at
    else if (isCloser(code)) levels -= 1
  }
  return json.length
}

/** Returns the index after the quote that ends a string: the first quote after an even number of backslashes. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (json.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return quote + 1
  }
  return json.length
}

function skipBlanks(json: string, from: number): number {
  let at = from
  while (at < json.length && json.charCodeAt(at) <= BLANK) at += 1
  return at
}

/** In valid JSON, every character between values that has at most this code is a blank, a tab or a line break. */
const BLANK = 0x20
