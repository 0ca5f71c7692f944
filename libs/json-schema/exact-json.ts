declare global {
  /** ECMAScript's "JSON.parse source text access", which TypeScript's libraries lack. */
  interface JSON {
    rawJSON(json: string): RawJson
    isRawJSON(value: unknown): value is RawJson
  }
}

type RawJson = { readonly rawJSON: string }

/**
 * `JSON.parse`, but numbers that JavaScript would spell otherwise (`1.0`, `1e5`, integers beyond 2^53) become objects
 * of `JSON.rawJSON`, which `JSON.stringify` writes as they were; no thread can be sent such an object. A number beyond
 * every double is Infinity, as with `JSON.parse`. Throws SyntaxError. Where there may be such numbers, it takes about ten
 * times as long as `JSON.parse`.
 */
export function parseExact(json: string): unknown {
  if (!mayChange(json)) return JSON.parse(json)
  return JSON.parse(json, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined) return value
    return source === String(value) || !Number.isFinite(value) ? value : JSON.rawJSON(source)
  })
}

/** The text of a number of `parseExact`; null for any other value. */
export function numberText(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : null
}

/**
 * Whether JavaScript may write a JSON text otherwise than it is: numbers in another spelling, names of digits in another
 * order. Text within strings may make it true as well.
 */
export const mayChange = (json: string): boolean => CHANGES.test(json)

/**
 * In this order: a fraction that ends in 0, a small number, `-0`, an exponent, more digits than every double has, a name
 * of digits.
 */
const CHANGES = /\d\.\d*0(?!\d)|\.0{6}|-0(?![.\d])|\d[eE][-+\d]|\d[\d.]{15}|"\d+"\s*:/
