import { ConstraintError } from './constraint-error.ts'
import { isJsonValue, isRecord, type JsonValue } from './json-text.ts'
import { textMatching } from './regex-text.ts'

export type ValueHints = {
  /** What the person wrote: an enum value that stands in it is preferred. */
  readonly userText: string
  /** For strings that may be anything. */
  readonly text: string
  readonly variant: number
}

/**
 * A value that fits `schema`. Covers what callers use for tools and structured output: types, enum, const,
 * objects, arrays, bounds, pattern, format, allOf / anyOf / oneOf and local `$ref`. Throws a ConstraintError
 * when nothing fits (`false`, an unknown type, a recursion without end).
 */
export function valueFor(schema: unknown, hints: ValueHints): JsonValue {
  return createWriter(schema, hints)(schema, 0)
}

/** Deeper than this, only what is required is written, so that recursive schemas end. */
const GENEROUS_DEPTH = 4
const MAX_DEPTH = 40

type Schema = Readonly<Record<string, unknown>>

function createWriter(root: unknown, hints: ValueHints) {
  return write

  function write(given: unknown, depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new ConstraintError('Grammar error: schema is nested too deeply')
    if (given === false) throw new ConstraintError('Grammar error: Unsatisfiable schema: schema is false')
    if (!isRecord(given)) return hints.text
    const schema = resolve(given, 0)
    if ('const' in schema && isJsonValue(schema['const'])) return schema['const']
    const options = schema['enum']
    if (Array.isArray(options) && options.length > 0) return chosen(options.filter(isJsonValue))
    switch (typeOf(schema)) {
      case 'object':
        return object(schema, depth)
      case 'array':
        return array(schema, depth)
      case 'string':
        return text(schema)
      case 'integer':
        return number(schema, true)
      case 'number':
        return number(schema, false)
      case 'boolean':
        return hints.variant % 2 === 0
      case 'null':
        return null
      case 'any':
        return hints.text
    }
  }

  function resolve(given: Schema, hops: number): Schema {
    if (hops > MAX_DEPTH) throw new ConstraintError('Grammar error: $ref refers to itself')
    const reference = given['$ref']
    if (typeof reference === 'string')
      return resolve({ ...pointed(reference), ...without(given, '$ref') }, hops + 1)
    for (const key of ['anyOf', 'oneOf'] as const) {
      const options = given[key]
      if (!Array.isArray(options) || options.length === 0) continue
      const option: unknown = options.find((one) => isRecord(one) && one['type'] !== 'null') ?? options[0]
      return resolve(merge(without(given, key), option), hops + 1)
    }
    const all = given['allOf']
    if (Array.isArray(all)) {
      const parts = all.map((part: unknown) => (isRecord(part) ? resolve(part, hops + 1) : {}))
      return resolve(parts.reduce<Schema>(merge, without(given, 'allOf')), hops + 1)
    }
    return given
  }

  function pointed(reference: string): Schema {
    let target: unknown = root
    for (const step of reference.replace(/^#\/?/u, '').split('/')) {
      if (step === '') continue
      const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      target = isRecord(target) ? target[key] : Array.isArray(target) ? target[Number(key)] : undefined
    }
    if (!reference.startsWith('#') || !isRecord(target)) {
      throw new ConstraintError(`Grammar error: cannot resolve $ref ${reference}`)
    }
    return target
  }

  function chosen(options: readonly JsonValue[]): JsonValue {
    const wanted = hints.userText.toLowerCase()
    const named = options.find(
      (one) => typeof one === 'string' && one !== '' && wanted.includes(one.toLowerCase()),
    )
    return named ?? options[hints.variant % options.length] ?? null
  }

  function object(schema: Schema, depth: number): JsonValue {
    const properties = isRecord(schema['properties']) ? schema['properties'] : {}
    const required = stringsOf(schema['required'])
    const optional = depth < GENEROUS_DEPTH ? Object.keys(properties) : []
    const extra = isRecord(schema['additionalProperties']) ? schema['additionalProperties'] : {}
    const value: Record<string, JsonValue> = {}
    // In the order of `properties`: grammars of real engines fix that order.
    for (const name of Object.keys(properties)) {
      if (properties[name] === false) continue
      if (optional.includes(name) || required.includes(name)) value[name] = write(properties[name], depth + 1)
    }
    for (const name of required) if (!(name in properties)) value[name] = write(extra, depth + 1)
    return value
  }

  function array(schema: Schema, depth: number): JsonValue {
    const prefix = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : []
    const least = numberOf(schema['minItems']) ?? 0
    const most = numberOf(schema['maxItems']) ?? Infinity
    const closed = schema['items'] === false
    const generous = depth < GENEROUS_DEPTH ? Math.max(prefix.length, closed ? 0 : 1) : 0
    const length = Math.min(Math.max(least, generous), most, MAX_ITEMS)
    return Array.from({ length }, (_, i) => {
      if (i < prefix.length) return write(prefix[i], depth + 1)
      const itemHints = {
        ...hints,
        text: i === 0 ? hints.text : `${hints.text} ${i + 1}`,
        variant: hints.variant + i,
      }
      return createWriter(root, schema['uniqueItems'] === true ? itemHints : hints)(
        schema['items'] ?? true,
        depth + 1,
      )
    })
  }

  function text(schema: Schema): string {
    if (typeof schema['pattern'] === 'string') return textMatching(schema['pattern'], hints.variant)
    const format = typeof schema['format'] === 'string' ? FORMATS[schema['format']] : undefined
    if (format !== undefined) return format
    const least = numberOf(schema['minLength']) ?? 0
    const most = numberOf(schema['maxLength']) ?? Infinity
    return Array.from(hints.text.padEnd(Math.min(least, MAX_TEXT), '.'))
      .slice(0, most)
      .join('')
  }

  function number(schema: Schema, whole: boolean): number {
    const unit = numberOf(schema['multipleOf']) ?? (whole ? 1 : 0)
    if (unit === 0) return fraction(schema)
    // Counted in units, so that both bounds and the value are whole numbers.
    const low = Math.max(
      Math.ceil((numberOf(schema['minimum']) ?? -Infinity) / unit),
      Math.floor((numberOf(schema['exclusiveMinimum']) ?? -Infinity) / unit) + 1,
    )
    const high = Math.min(
      Math.floor((numberOf(schema['maximum']) ?? Infinity) / unit),
      Math.ceil((numberOf(schema['exclusiveMaximum']) ?? Infinity) / unit) - 1,
    )
    return Math.min(Math.max(1 + hints.variant, low), high) * unit
  }

  function fraction(schema: Schema): number {
    const [above, below] = [numberOf(schema['exclusiveMinimum']), numberOf(schema['exclusiveMaximum'])]
    const low = Math.max(numberOf(schema['minimum']) ?? -Infinity, above ?? -Infinity)
    const high = Math.min(numberOf(schema['maximum']) ?? Infinity, below ?? Infinity)
    const wanted = Math.min(Math.max(1 + hints.variant, low), high)
    if (wanted !== above && wanted !== below) return wanted
    if (Number.isFinite(low) && Number.isFinite(high)) return (low + high) / 2
    return wanted === above ? wanted + 1 : wanted - 1
  }
}

const MAX_ITEMS = 1_000
const MAX_TEXT = 10_000

const FORMATS: Readonly<Record<string, string>> = {
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
}

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const
type TypeName = (typeof TYPES)[number]

function typeOf(schema: Schema): TypeName | 'any' {
  const declared = schema['type']
  const names: unknown[] = Array.isArray(declared) ? declared : declared === undefined ? [] : [declared]
  const known = names.map((name) => {
    const type = TYPES.find((one) => one === name)
    if (type === undefined) throw new ConstraintError(`Grammar error: Invalid type: ${String(name)}`)
    return type
  })
  const first = known.find((type) => type !== 'null') ?? known[0]
  if (first !== undefined) return first
  if ('properties' in schema || 'required' in schema || 'additionalProperties' in schema) return 'object'
  if ('items' in schema || 'prefixItems' in schema) return 'array'
  return 'any'
}

/** Both hold; where both say something, `second` says it, but properties and required add up. */
function merge(first: Schema, second: unknown): Schema {
  if (!isRecord(second)) return first
  const properties = [first['properties'], second['properties']].filter(isRecord)
  const required = [...stringsOf(first['required']), ...stringsOf(second['required'])]
  return {
    ...first,
    ...second,
    ...(properties.length > 0 && { properties: Object.assign({}, ...properties) }),
    ...(required.length > 0 && { required }),
  }
}

function without(schema: Schema, key: string): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== key))
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
