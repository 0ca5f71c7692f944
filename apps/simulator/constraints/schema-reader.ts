import { numberText } from '#libs/json-schema/exact-json.ts'
import { isJsonObject, type JsonSchema } from '#libs/json-schema/json-schema.ts'
import { resolveReference } from '#libs/json-schema/references.ts'
import { ConstraintError } from './constraint-error.ts'

export type SchemaReader = {
  /**
   * Returns the schema of the value to write, without `$ref`, allOf, anyOf and oneOf. If there are several
   * alternatives, returns the first whose value can be completed within the maximum depth; the type null is chosen only
   * if no other alternative can be completed. Throws a ConstraintError if no alternative can be completed.
   */
  readonly richest: (given: unknown, depth: number) => JsonSchema
  /** As `richest`, but returns the alternative whose smallest value has the fewest levels. */
  readonly simplest: (given: unknown, depth: number) => JsonSchema
  /** Returns true if a value of the schema that begins at this depth can be completed within the maximum depth. */
  readonly isPossible: (given: unknown, depth: number) => boolean
  readonly typeOf: (flat: JsonSchema) => TypeName | 'any'
  readonly propertiesOf: (flat: JsonSchema) => [string, unknown][]
  /** The schema of properties that `properties` does not name. */
  readonly extraOf: (flat: JsonSchema) => unknown
}

const MAX_DEPTH = 40
/** Combinations of alternatives beyond this number are ignored. */
const MAX_ALTERNATIVES = 256

/** Reads a JSON schema in order to write values of it. Results are cached for each object of the schema. */
export function createSchemaReader(root: unknown): SchemaReader {
  const alternatives = new Map<object, readonly JsonSchema[]>()
  /**
   * Caches, for each alternative, how many levels its values need: `tooFew` levels are known not to be enough, and
   * `enough` levels are known to be enough.
   */
  const levels = new Map<JsonSchema, { tooFew: number; enough: number }>()

  function alternativesOf(given: unknown): readonly JsonSchema[] {
    if (given === false) return []
    if (!isJsonObject(given)) return ANYTHING
    const known = alternatives.get(given)
    if (known !== undefined) return known
    // A schema that refers to itself without a level in between adds no alternatives.
    alternatives.set(given, [])
    const found = flatten(given)
    alternatives.set(given, found)
    return found
  }

  function flatten({ $ref: reference, anyOf, oneOf, allOf, ...own }: JsonSchema): readonly JsonSchema[] {
    let flat = splitTypes(own)
    const combine = (others: readonly JsonSchema[]) => {
      flat = flat.flatMap((one) => others.map((other) => merge(one, other))).slice(0, MAX_ALTERNATIVES)
    }
    if (typeof reference === 'string') combine(alternativesOf(pointed(reference)))
    for (const options of [anyOf, oneOf]) {
      if (Array.isArray(options)) combine(options.flatMap((option: unknown) => alternativesOf(option)))
    }
    if (Array.isArray(allOf)) for (const part of allOf) combine(alternativesOf(part))
    return flat
  }

  function pointed(reference: string): JsonSchema {
    const target = resolveReference(root, reference)
    if (isJsonObject(target)) return target
    throw new ConstraintError(`Grammar error: cannot resolve $ref ${reference}`)
  }

  function fits(given: unknown, within: number): boolean {
    return within >= 0 && alternativesOf(given).some((flat) => fitsFlat(flat, within))
  }

  function fitsFlat(flat: JsonSchema, within: number): boolean {
    const known = levels.get(flat) ?? { tooFew: -1, enough: Infinity }
    if (within >= known.enough) return true
    if (within <= known.tooFew) return false
    const fitting = requiredBy(flat).every((part) => fits(part, within - 1))
    const now = levels.get(flat) ?? known
    levels.set(
      flat,
      fitting
        ? { ...now, enough: Math.min(now.enough, within) }
        : { ...now, tooFew: Math.max(now.tooFew, within) },
    )
    return fitting
  }

  /** The schemas of the parts that every value of `flat` has. */
  function requiredBy(flat: JsonSchema): unknown[] {
    if ('const' in flat || 'enum' in flat) return []
    const type = typeOf(flat)
    if (type === 'object') {
      const properties = new Map(propertiesOf(flat))
      return stringsOf(flat['required']).map((name) =>
        properties.has(name) ? properties.get(name) : extraOf(flat),
      )
    }
    if (type !== 'array') return []
    const least = numberOf(flat['minItems']) ?? 0
    const prefix: unknown[] = Array.isArray(flat['prefixItems']) ? flat['prefixItems'].slice(0, least) : []
    return least > prefix.length ? [...prefix, flat['items'] ?? true] : prefix
  }

  function finishable(given: unknown, depth: number): readonly JsonSchema[] {
    const possible = alternativesOf(given)
    if (possible.length === 0) throw new ConstraintError('Grammar error: Unsatisfiable schema')
    const finished = possible.filter((flat) => fitsFlat(flat, MAX_DEPTH - depth))
    if (finished.length === 0) throw new ConstraintError('Grammar error: schema is nested too deeply')
    return finished
  }

  return {
    richest(given, depth) {
      const finished = finishable(given, depth)
      return finished.find((flat) => typeOf(flat) !== 'null') ?? finished[0] ?? {}
    },
    simplest(given, depth) {
      const finished = finishable(given, depth)
      let within = 0
      while (!finished.some((flat) => fitsFlat(flat, within))) within += 1
      return finished.find((flat) => fitsFlat(flat, within)) ?? {}
    },
    isPossible: (given, depth) => fits(given, MAX_DEPTH - depth),
    typeOf,
    propertiesOf,
    extraOf,
  }
}

const ANYTHING: readonly JsonSchema[] = [{}]

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const
export type TypeName = (typeof TYPES)[number]

function splitTypes(own: JsonSchema): JsonSchema[] {
  const { type, ...others } = own
  return Array.isArray(type) ? type.map((name: unknown) => ({ type: name, ...others })) : [own]
}

function typeOf(flat: JsonSchema): TypeName | 'any' {
  const declared = flat['type']
  if (declared !== undefined) {
    const type = TYPES.find((one) => one === declared)
    if (type === undefined) {
      throw new ConstraintError(
        `Grammar error: Invalid type: ${typeof declared === 'string' ? declared : JSON.stringify(declared)}`,
      )
    }
    return type
  }
  if ('properties' in flat || 'required' in flat || 'additionalProperties' in flat) return 'object'
  if ('items' in flat || 'prefixItems' in flat) return 'array'
  return 'any'
}

function propertiesOf(flat: JsonSchema): [string, unknown][] {
  return isJsonObject(flat['properties']) ? Object.entries(flat['properties']) : []
}

function extraOf(flat: JsonSchema): unknown {
  return flat['additionalProperties'] ?? true
}

/**
 * Returns the schema of the values that fit both schemas. If both have the same keyword, the keyword of `second` is
 * taken, but the members of `properties` and `required` are united.
 */
function merge(first: JsonSchema, second: JsonSchema): JsonSchema {
  const properties = [first['properties'], second['properties']].filter(isJsonObject)
  const required = [...stringsOf(first['required']), ...stringsOf(second['required'])]
  return {
    ...first,
    ...second,
    ...(properties.length > 0 && {
      properties: Object.fromEntries(properties.flatMap((part) => Object.entries(part))),
    }),
    ...(required.length > 0 && { required }),
  }
}

export function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

export function numberOf(value: unknown): number | undefined {
  const text = numberText(value)
  return text === null ? undefined : Number(text)
}
