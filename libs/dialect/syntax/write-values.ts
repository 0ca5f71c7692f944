export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/**
 * Returns JSON with a blank after `:` and `,`, as models write it because Python's json.dumps does. Numbers that
 * `parseExact` returned keep their spelling. The functions below keep it too.
 */
export function toSpacedJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object' || JSON.isRawJSON(value)) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(toSpacedJson).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, inner]) => `${JSON.stringify(key)}: ${toSpacedJson(inner)}`,
  )
  return `{${members.join(', ')}}`
}

/** Returns a string unchanged, any other value as JSON. */
export function toUnquotedText(value: JsonValue): string {
  return typeof value === 'string' ? value : toSpacedJson(value)
}

/** Returns the value as Python's `repr` prints it. */
export function toPython(value: JsonValue): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return toPythonString(value)
  if (typeof value === 'number' || JSON.isRawJSON(value)) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(toPython).join(', ')}]`
  const members = Object.entries(value).map(([key, inner]) => `${toPythonString(key)}: ${toPython(inner)}`)
  return `{${members.join(', ')}}`
}

function toPythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  return quote + inside.replaceAll(quote, `\\${quote}`) + quote
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value)
}
