/**
 * Returns the texts of the members of a JSON object, by name, or of the elements of an array, by index. Of a name that is
 * repeated the last member counts, as with `JSON.parse`. The text must be valid JSON; for any other value there are no parts.
 */
export function jsonParts(json: string): Map<string, string> {
  const parts = new Map<string, string>()
  const begin = skipBlanks(json, 0)
  const isObject = json.charAt(begin) === '{'
  if (!isObject && json.charAt(begin) !== '[') return parts
  let at = skipBlanks(json, begin + 1)
  while (at < json.length && !CLOSERS.has(json.charAt(at))) {
    let name = String(parts.size)
    if (isObject) {
      const end = endOfString(json, at)
      name = String(JSON.parse(json.slice(at, end)))
      at = skipBlanks(json, skipBlanks(json, end) + 1)
    }
    const end = endOfValue(json, at)
    parts.set(name, json.slice(at, end).trimEnd())
    at = json.charAt(end) === ',' ? skipBlanks(json, end + 1) : end
  }
  return parts
}

/** The index of the comma or bracket behind a value, or the text's length. */
function endOfValue(json: string, start: number): number {
  let levels = 0
  for (let at = start; at < json.length; at++) {
    const character = json.charAt(at)
    if (character === '"') at = endOfString(json, at) - 1
    else if (character === '{' || character === '[') levels += 1
    else if (levels === 0 && (character === ',' || CLOSERS.has(character))) return at
    else if (CLOSERS.has(character)) levels -= 1
  }
  return json.length
}

const CLOSERS: ReadonlySet<string> = new Set(['}', ']'])

/** The index behind the quote that ends a string: the first one after an even number of backslashes. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (json.charAt(quote - 1 - backslashes) === '\\') backslashes += 1
    if (backslashes % 2 === 0) return quote + 1
  }
  return json.length
}

function skipBlanks(json: string, from: number): number {
  let at = from
  while (' \t\r\n'.includes(json.charAt(at)) && at < json.length) at += 1
  return at
}
