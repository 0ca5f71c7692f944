import { isJsonObject, type JsonSchema } from '#libs/json-schema/json-schema.ts'
import { ConstraintError } from './constraint-error.ts'
import type { JsonValue } from '#libs/dialect/syntax/write-values.ts'
import { textMatching } from './regex-text.ts'
import { createSchemaReader, numberOf, stringsOf } from './schema-reader.ts'

export type ValueHints = {
  /** The last message of the user: an enum value that occurs in it is preferred. */
  readonly userText: string
  /** Used for strings without constraints. */
  readonly text: string
  readonly variant: number
}

/**
 * Returns a value that fits `schema`. Supports the keywords that callers use for tools and structured output: types,
 * enum, const, objects, arrays, bounds, pattern, format, allOf / anyOf / oneOf and local `$ref`, also recursive `$ref`.
 * Throws a ConstraintError if no value fits (`false`, an unknown type, endless recursion), or if the smallest value
 * exceeds the limits below.
 */
export function valueFor(schema: unknown, hints: ValueHints): JsonValue {
  const reader = createSchemaReader(schema)
  let spent = 0
  return write(schema, 0, hints)

  function write(given: unknown, depth: number, hinted: ValueHints): JsonValue {
    spend(1)
    const flat = isGenerous(depth) ? reader.richest(given, depth) : reader.simplest(given, depth)
    if ('const' in flat && isJsonValue(flat['const'])) return flat['const']
    const options = flat['enum']
    if (Array.isArray(options) && options.length > 0) return chosen(options.filter(isJsonValue), hinted)
    switch (reader.typeOf(flat)) {
      case 'object':
        return object(flat, depth, hinted)
      case 'array':
        return array(flat, depth, hinted)
      case 'string':
        return text(flat, hinted)
      case 'integer':
        return number(flat, true, hinted.variant)
      case 'number':
        return number(flat, false, hinted.variant)
      case 'boolean':
        return hinted.variant % 2 === 0
      case 'null':
        return null
      case 'any':
        return hinted.text
    }
  }

  /**
   * Bounds the size of the value. Without a bound the size would be exponential in the depth, if each level has several
   * parts.
   */
  function spend(amount: number): void {
    spent += amount
    if (spent > MAX_SPENT) throw new ConstraintError('Grammar error: the smallest value is too large')
  }

  /** Returns whether optional parts are written. */
  function isGenerous(depth: number): boolean {
    return depth < GENEROUS_DEPTH && spent < GENEROUS_SPENT
  }

  function object(flat: JsonSchema, depth: number, hinted: ValueHints): JsonValue {
    const required = new Set(stringsOf(flat['required']))
    const members: [string, JsonValue][] = []
    // The parts are written in the order of `properties`, which the grammars of real engines require.
    for (const [name, property] of reader.propertiesOf(flat)) {
      const wanted = required.has(name) || (isGenerous(depth) && reader.isPossible(property, depth + 1))
      if (wanted) members.push([name, write(property, depth + 1, hinted)])
      required.delete(name)
    }
    for (const name of required) members.push([name, write(reader.extraOf(flat), depth + 1, hinted)])
    return Object.fromEntries(members)
  }

  function array(flat: JsonSchema, depth: number, hinted: ValueHints): JsonValue {
    const prefix: unknown[] = Array.isArray(flat['prefixItems']) ? flat['prefixItems'] : []
    const item = flat['items'] ?? true
    const least = numberOf(flat['minItems']) ?? 0
    const most = numberOf(flat['maxItems']) ?? Infinity
    const more = item !== false && reader.isPossible(item, depth + 1) ? 1 : 0
    const length = Math.min(Math.max(least, isGenerous(depth) ? Math.max(prefix.length, more) : 0), most)
    const unique = flat['uniqueItems'] === true
    const values: JsonValue[] = []
    while (values.length < length) {
      const i = values.length
      const itemHints = { ...hinted, text: `${hinted.text} ${i + 1}`, variant: hinted.variant + i }
      const one = i < prefix.length ? prefix[i] : item
      values.push(write(one, depth + 1, unique && i > 0 ? itemHints : hinted))
    }
    return values
  }

  function text(flat: JsonSchema, hinted: ValueHints): string {
    if (typeof flat['pattern'] === 'string') return textMatching(flat['pattern'], hinted.variant)
    const format = typeof flat['format'] === 'string' ? FORMATS.get(flat['format']) : undefined
    if (format !== undefined) return format
    const least = numberOf(flat['minLength']) ?? 0
    const most = numberOf(flat['maxLength']) ?? Infinity
    spend(least / CHARACTERS_A_VALUE)
    return Array.from(hinted.text.padEnd(least, '.')).slice(0, most).join('')
  }
}

/** Used while a constraint is only checked. */
export const SAMPLE_HINTS: ValueHints = { userText: '', text: 'text', variant: 0 }

/** Returns a function that writes a value of the schema as JSON. Throws a ConstraintError if no value fits. */
export function toJsonWriter(schema: unknown): (hints: ValueHints) => string {
  const write = (hints: ValueHints) => JSON.stringify(valueFor(schema, hints))
  write(SAMPLE_HINTS)
  return write
}

/**
 * Beyond this depth or this number of written values, only required parts are written, so that recursive schemas end.
 */
const GENEROUS_DEPTH = 4
const GENEROUS_SPENT = 500
const MAX_SPENT = 20_000
/** A string counts as one more value for each of its parts of this length. */
const CHARACTERS_A_VALUE = 64

/** Returns true if a value in a schema (`const`, `enum`) is JSON, as all results of JSON.parse are. */
function isJsonValue(value: unknown): value is JsonValue {
  if (value === null || ['boolean', 'number', 'string'].includes(typeof value)) return true
  if (Array.isArray(value)) return value.every(isJsonValue)
  return isJsonObject(value) && Object.values(value).every(isJsonValue)
}

function chosen(options: readonly JsonValue[], { userText, variant }: ValueHints): JsonValue {
  const wanted = userText.toLowerCase()
  const named = options.find(
    (one) => typeof one === 'string' && one !== '' && wanted.includes(one.toLowerCase()),
  )
  return named ?? options[variant % options.length] ?? null
}

function number(schema: JsonSchema, whole: boolean, variant: number): number {
  const unit = numberOf(schema['multipleOf']) ?? (whole ? 1 : 0)
  if (unit === 0) return fraction(schema, variant)
  // The bounds are computed in multiples of the unit, so that they and the value are integers.
  const low = Math.max(
    Math.ceil((numberOf(schema['minimum']) ?? -Infinity) / unit),
    Math.floor((numberOf(schema['exclusiveMinimum']) ?? -Infinity) / unit) + 1,
  )
  const high = Math.min(
    Math.floor((numberOf(schema['maximum']) ?? Infinity) / unit),
    Math.ceil((numberOf(schema['exclusiveMaximum']) ?? Infinity) / unit) - 1,
  )
  return Math.min(Math.max(1 + variant, low), high) * unit
}

function fraction(schema: JsonSchema, variant: number): number {
  const [above, below] = [numberOf(schema['exclusiveMinimum']), numberOf(schema['exclusiveMaximum'])]
  const low = Math.max(numberOf(schema['minimum']) ?? -Infinity, above ?? -Infinity)
  const high = Math.min(numberOf(schema['maximum']) ?? Infinity, below ?? Infinity)
  const wanted = Math.min(Math.max(1 + variant, low), high)
  if (wanted !== above && wanted !== below) return wanted
  if (Number.isFinite(low) && Number.isFinite(high)) return (low + high) / 2
  return wanted === above ? wanted + 1 : wanted - 1
}

const FORMATS = new Map(
  Object.entries({
    date: '2024-05-17',
    time: '12:30:00Z',
    'date-time': '2024-05-17T12:30:00Z',
    duration: 'PT1H',
    email: 'someone@example.com',
    hostname: 'example.com',
    ipv4: '192.0.2.1',
    ipv6: '2001:db8::1',
    uri: 'https://example.com/',
    uuid: '123e4567-e89b-42d3-a456-426614174000',
  }),
)
