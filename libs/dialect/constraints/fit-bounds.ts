import { numberText } from '#libs/json-schema/exact-json.ts'
import { allowsIntegersAlone, type JsonSchema } from '#libs/json-schema/json-schema.ts'
import { mapSubschemas } from '#libs/json-schema/subschemas.ts'

/**
 * Rewrites bounds that the engine's grammar library (xgrammar) cannot read, and removes bounds that the library cannot
 * represent. With such bounds the library would refuse the schema, or write a grammar for other values. Removing a
 * bound only allows more values. These are the library's limits:
 * - Counts have 32 bits and no fraction.
 * - Bounds of integers have 64 bits.
 * - Where a schema allows more than integers, a bound beyond 2^63 makes the library exclude numbers that the bound
 *   allows.
 */
export function fitBounds(schema: JsonSchema): JsonSchema {
  return mapSubschemas(withFittedBounds(schema), fitBounds)
}

function withFittedBounds(schema: JsonSchema): JsonSchema {
  const isInteger = allowsIntegersAlone(schema)
  let fitted: Record<string, unknown> | null = null
  for (const [keyword, toBound] of BOUNDS) {
    const text = keyword in schema ? numberText(schema[keyword]) : null
    if (text === null) continue
    const bound = toBound(text, isInteger)
    if (bound !== null && JSON.stringify(bound) === text) continue
    fitted ??= { ...schema }
    if (bound === null) delete fitted[keyword]
    else fitted[keyword] = bound
  }
  return fitted ?? schema
}

/** Converts a bound's text to a value that the library can read; null if it cannot represent the bound. */
type ToBound = (text: string, isInteger: boolean) => unknown

const MOST = 2n ** 63n - 1n
const LEAST = -(2n ** 63n)

const count: ToBound = (text) => (Number(text) < 2 ** 31 ? Number(text) : null)

/**
 * Returns the function that converts a bound. Where a schema allows only integers, a bound below `least` or above
 * `most` is removed. The 64-bit range of an exclusive bound is shorter by one at one end, because the library adds one
 * to an exclusive minimum and subtracts one from an exclusive maximum.
 */
const limit =
  (round: 'ceil' | 'floor', [least, most]: readonly [bigint, bigint]): ToBound =>
  (text, isInteger) => {
    if (!isInteger) return Math.abs(Number(text)) < 2 ** 63 ? toNumber(text) : null
    const bound = toInteger(text, round)
    return bound === null || bound < least || bound > most ? null : toNumber(String(bound))
  }

const BOUNDS: readonly (readonly [keyword: string, toBound: ToBound])[] = [
  ['minLength', count],
  ['maxLength', count],
  ['minItems', count],
  ['maxItems', count],
  ['minProperties', count],
  ['maxProperties', count],
  ['minimum', limit('ceil', [LEAST, MOST])],
  ['maximum', limit('floor', [LEAST, MOST])],
  ['exclusiveMinimum', limit('floor', [LEAST, MOST - 1n])],
  ['exclusiveMaximum', limit('ceil', [LEAST + 1n, MOST])],
]

function toInteger(text: string, round: 'ceil' | 'floor'): bigint | null {
  if (/^-?\d+$/.test(text)) return text.length > MOST_DIGITS ? null : BigInt(text)
  const whole = Math[round](Number(text))
  return Number.isFinite(whole) ? BigInt(whole) : null
}

/** Longer numbers are outside all bounds, and slow to convert. */
const MOST_DIGITS = 30

const toNumber = (text: string): unknown =>
  text === String(Number(text)) ? Number(text) : JSON.rawJSON(text)
