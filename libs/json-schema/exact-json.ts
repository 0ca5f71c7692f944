declare global {
  /** ECMAScript's "JSON.parse source text access", which TypeScript's libraries lack. */
  interface JSON {
    rawJSON(json: string): RawJson
    isRawJSON(value: unknown): value is RawJson
  }
}

type RawJson = { readonly rawJSON: string }

/**
 * Parses like `JSON.parse`, except for numbers that JavaScript would spell differently (`1.0`, `1e5`, integers beyond
 * 2^53). These become `JSON.rawJSON` objects, which `JSON.stringify` writes in their original spelling, and which
 * cannot be sent to a thread. A number too large for a double becomes Infinity, as with `JSON.parse`. Throws a
 * SyntaxError if the text is not JSON. A text that may contain such numbers takes about ten times as long as with
 * `JSON.parse`.
 */
export function parseExact(json: string): unknown {
  if (!mayChange(json)) return JSON.parse(json)
  return JSON.parse(json, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined) return value
    return source === String(value) || !Number.isFinite(value) ? value : JSON.rawJSON(source)
  })
}

/** A value that `writeExact` writes as this JSON. */
export class JsonText {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

/** Returns the JSON of plain data in which any value may be a `JsonText`. */
export function writeExact(value: unknown): string {
  if (value instanceof JsonText) return value.json
  if (Array.isArray(value)) return `[${value.map(writeExact).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeExact(member)}`).join(',')}}`
}

/** Returns the text of a number from `parseExact`; null for any other value. */
export function numberText(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : null
}

/**
 * Returns whether a JSON text may change when JavaScript parses it and writes it again: numbers may get another
 * spelling, and names made of digits another order. Text within strings may make the result true as well.
 */
export const mayChange = (json: string): boolean => CHANGES.test(json)

/**
 * The alternatives match, in this order: a fraction that ends in 0, a fraction that begins with six zeros, `-0`, an
 * exponent, a number of at least 16 characters (a double may not preserve its digits), and a name made of digits.
 */
const CHANGES = /\d\.\d*0(?!\d)|\.0{6}|-0(?![.\d])|\d[eE][-+\d]|\d[\d.]{15}|"\d+"\s*:/
