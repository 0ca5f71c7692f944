import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCheckSchema, type CheckSchema } from '#apps/gateway/endpoints/fields/check-schema.ts'
import { ApiError } from '#libs/contracts/api-error.ts'

type Schema = Parameters<CheckSchema>[0]

/** Returns the error that the caller receives; null if the schema is accepted. */
function problemOf(schema: Schema): string | null {
  try {
    createCheckSchema()(schema, 'response_format')
    return null
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_request') throw error
    return `${error.param}: ${error.message}`
  }
}

const inProperties = (schema: unknown): Schema => ({ type: 'object', properties: { city: schema } })

/** Arrays within arrays, in a value that is no schema. */
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])

const DRAFT_7 = 'http://json-schema.org/draft-07/schema#'
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'

const tree = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: {
        value: { type: 'string' },
        next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
        children: { type: 'array', items: { $ref: '#' } },
      },
    },
  },
}

describe('a schema is accepted', () => {
  it.each<[string, Schema]>([
    ['that says nothing', {}],
    ['with unknown keywords', { type: 'string', 'x-order': 1, nullable: true, discriminator: { a: 1 } }],
    ['of draft 2020-12 that says so', { $schema: DRAFT_2020, prefixItems: [{}], items: false }],
    ['of draft 7 that says so', { $schema: DRAFT_7, items: [{ type: 'string' }], definitions: { a: {} } }],
    ['of draft 7 that does not say so', inProperties({ type: 'array', items: [{}], additionalItems: false })],
    ['with definitions of the old name', { $ref: '#/definitions/a', definitions: { a: { type: 'null' } } }],
    ['that refers to itself through what is inside', tree],
    ['that refers to a property', { properties: { a: {}, b: { $ref: '#/properties/a' } } }],
    ['that refers to names with signs in them', { $ref: '#/$defs/a~1b%25~0', $defs: { 'a/b%~': {} } }],
    ['that refers to true', { $ref: '#/$defs/a', $defs: { a: true } }],
    ['whose values look like schemas', { const: { $ref: '#/x', type: 3 }, default: { pattern: '(' } }],
    [
      'whose properties are named like keywords',
      { properties: { $ref: { type: 'string' }, enum: {}, items: {} } },
    ],
    ['with a catastrophic pattern, which is never run', inProperties({ pattern: '^(a+)+$' })],
    ['with a pattern that only some engines take', inProperties({ pattern: String.raw`^[\w-.]+\@x$` })],
    ['with an id at its root', { $id: 'https://example.com/s', type: 'object' }],
    ['as deep as the engine takes', { const: nested(63) }],
  ])('%s', (_, schema) => {
    expect(problemOf(schema)).toBeNull()
  })
})

describe('a schema is refused, with the place and what is allowed there', () => {
  it.each<[Schema, string]>([
    [inProperties({ type: 'strng' }), '#/properties/city/type: expected one of array, boolean, '],
    [inProperties({ type: ['string', 'nil'] }), '#/properties/city/type: expected one of array'],
    [inProperties(3), '#/properties/city: must be object,boolean'],
    [inProperties({ minimum: '1' }), '#/properties/city/minimum: must be number'],
    [inProperties({ 'a/b': 1, required: 'a' }), '#/properties/city/required: must be array'],
    [{ $schema: 3 }, '#/$schema: must be string'],
    [{ $schema: DRAFT_2020, items: [{}] }, '#/items: must be object,boolean'],
    [{ $schema: DRAFT_7, items: 3 }, '#/items: must be '],
    [inProperties({ pattern: '(' }), '#/properties/city/pattern: expected a regular expression'],
    [{ patternProperties: { '[': {} } }, '#/patternProperties/[: expected a regular expression'],
    [{ $ref: 'https://example.com/s' }, '#/$ref: expected a reference within the schema'],
    [{ $ref: '#node', $defs: { a: { $anchor: 'node' } } }, '#/$ref: expected a reference within the schema'],
    [{ $ref: '#/%zz' }, '#/$ref: expected a reference within the schema'],
    [{ allOf: [{ $ref: '#/$defs/a' }] }, '#/allOf/0/$ref: it points at no schema'],
    [{ $ref: '#/properties', properties: { a: {} } }, '#/$ref: it points at no schema'],
    [{ $ref: '#/constructor' }, '#/$ref: it points at no schema'],
    [{ $ref: '#/__proto__' }, '#/$ref: it points at no schema'],
    [inProperties({ $dynamicRef: '#a' }), '#/properties/city/$dynamicRef: expected $ref'],
    [
      inProperties({ $id: 'https://example.com/s' }),
      '#/properties/city/$id: expected an $id at the root alone',
    ],
    [{ $ref: '#' }, '#: it refers to itself without end'],
    [{ anyOf: [{ $ref: '#' }, { type: 'null' }] }, '#/anyOf/0: it refers to itself without end'],
    [inProperties({ $ref: '#/$defs/a', $defs: { x: {} } }), '#/properties/city/$ref: it points at no schema'],
    [
      {
        properties: { city: { $ref: '#/$defs/a' } },
        $defs: { a: { $ref: '#/$defs/b' }, b: { not: { allOf: [{}, { $ref: '#/$defs/a' }] } } },
      },
      '#/$defs/a: it refers to itself without end',
    ],
    [{ const: nested(64) }, '#: expected at most 64 levels'],
    [{ enum: Array.from({ length: 20_001 }, (_, i) => i) }, '#: expected at most 20000 values'],
    [{ description: 'x'.repeat(200_001) }, '#: expected at most 200000 characters'],
  ])('%#', (schema, problem) => {
    expect(problemOf(schema)).toContain(`response_format: 'response_format': wrong schema at ${problem}`)
  })

  it('in a property named __proto__ too', () => {
    const schema: Schema = Object(JSON.parse('{"properties": {"__proto__": {"type": "nil"}}}'))
    expect(problemOf(schema)).toContain('#/properties/__proto__/type: expected one of')
  })
})

describe('what would stop the engine or break its answer', () => {
  const text = (pattern: string) => inProperties({ type: 'string', pattern })
  const optional = (count: number) => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}])),
    minProperties: 1,
  })

  it.each<[Schema, string]>([
    [text('(?<=a)b'), '#/properties/city/pattern: look-behinds are not supported'],
    [text(String.raw`(a)\1`), '#/properties/city/pattern: back references are not supported'],
    [text(String.raw`(?<n>a)\k<n>`), '#/properties/city/pattern: back references are not supported'],
    [text(String.raw`\bword`), String.raw`#/properties/city/pattern: \b and \B are not supported`],
    [text(String.raw`^\p{L}+$`), String.raw`#/properties/city/pattern: \p and \P are not supported`],
    [text(String.raw`^[a\p{L}]+$`), String.raw`#/properties/city/pattern: \p and \P are not supported`],
    [text('(?i:a)'), '#/properties/city/pattern: flags inside a pattern are not supported'],
    [text('a{,3}'), '#/properties/city/pattern: expected a count after {'],
    [text('[^]'), '#/properties/city/pattern: expected something between [ and ]'],
    [text('^"$'), '#/properties/city/pattern: quotes, backslashes and control characters'],
    [text(String.raw`^C:\\`), '#/properties/city/pattern: quotes, backslashes and control characters'],
    [text(String.raw`^a\nb$`), '#/properties/city/pattern: quotes, backslashes and control characters'],
    [text(String.raw`^\u0022$`), '#/properties/city/pattern: quotes, backslashes and control characters'],
    [text('^.{1,129}$'), '#/properties/city/pattern: expected at most 128 repetitions'],
    [text('^(.{100}){11}$'), '#/properties/city/pattern: expected counts that repeat at most 1000 steps'],
    [text('^(.?b?){65}$'), '#/properties/city/pattern: expected counted groups to repeat at most 128 steps'],
    [text('^((.{0,5}){6}){5}$'), '#/properties/city/pattern: expected counted groups to repeat at most 128'],
    [{ patternProperties: { 'a{129}': {} } }, '#/patternProperties/a{129}: expected at most 128'],
    [
      { items: { anyOf: Array.from({ length: 41 }, () => ({ pattern: 'a{126}' })) } },
      '#/items/anyOf/40/pattern: expected counts that repeat at most 1000 steps, 5000 in all',
    ],
    [inProperties({ enum: [] }), '#/properties/city/enum: expected a value'],
    [
      inProperties({ minLength: 2, maxLength: 1 }),
      '#/properties/city/minLength: nothing is left below maxLength',
    ],
    [
      inProperties({ minItems: 2, maxItems: 1 }),
      '#/properties/city/minItems: nothing is left below maxItems',
    ],
    [inProperties({ minimum: 2, maximum: 1 }), '#/properties/city/minimum: nothing is left below maximum'],
    [inProperties({ minimum: 1, exclusiveMaximum: 1 }), '#/properties/city/minimum: nothing is left'],
    [
      inProperties({ type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 2 }),
      '#/properties/city/exclusiveMinimum: nothing is left below exclusiveMaximum',
    ],
    [
      inProperties({ type: 'integer', minimum: 0.5, maximum: 0.75 }),
      '#/properties/city/minimum: nothing is left below maximum',
    ],
    [inProperties({ minLength: 2 ** 31 }), '#/properties/city/minLength: expected at most 2147483647'],
    [inProperties(false), '#/properties/city: no value fits false'],
    [{ anyOf: [{}, false] }, '#/anyOf/1: no value fits false'],
    [{ $ref: '#/$defs/a', $defs: { a: false } }, '#/$ref: no value fits false'],
    [{ prefixItems: [{}], items: false, minItems: 2 }, '#/minItems: expected at most 1'],
    [{ prefixItems: [{}, {}], maxItems: 1 }, '#/maxItems: expected at least 2'],
    [{ properties: optional(1_001).properties }, '#/properties: expected at most 1000 optional properties'],
    [optional(65), '#/minProperties: expected at most 64 optional properties'],
    [{ items: optional(40), contains: optional(25) }, '#/contains/minProperties: expected at most 64'],
  ])('is refused: %j', (schema, problem) => {
    expect(problemOf(schema)).toContain(`wrong schema at ${problem}`)
  })

  it.each<[Schema]>([
    [text('^(?:[a-z]{64},?){15}$')],
    [text(String.raw`^(\d{1,3}\.){3}\d{1,3}$`)],
    [text(String.raw`^(?:(?:\w+\s*){64}|(?<year>[0-9]{4})|.{1,128}.{0,128})+?$`)],
    [text('^(ab{3}c|){42}$')],
    [text(String.raw`^[^"\\\n]*\.(?!x)[\s\S]{0,128}$`)],
    [inProperties({ minLength: 1, maxLength: 100_000 })],
    [inProperties({ type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 3 })],
    [inProperties({ exclusiveMinimum: 1, exclusiveMaximum: 2 })],
    [inProperties({ type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })],
    [inProperties({ type: ['integer', 'number'], minimum: 0.5 })],
    [inProperties({ minimum: 0.5, maximum: 1e300 })],
    [inProperties({ type: 'integer', minimum: 0.5, maximum: 1.5 })],
    [inProperties({ type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 64 })],
    [inProperties({ type: 'integer', minimum: 2 ** 63, exclusiveMaximum: 2 ** 63 })],
    [inProperties({ type: 'integer', exclusiveMinimum: 2 ** 53, exclusiveMaximum: 2 ** 53 + 2 })],
    [inProperties({ type: 'integer', exclusiveMinimum: 2 ** 60, exclusiveMaximum: 2 ** 60 })],
    [inProperties({ maxLength: 2 ** 63, maxItems: 1e30 })],
    [{ properties: { a: true }, additionalProperties: false, prefixItems: [{}], items: false, minItems: 1 }],
    [optional(64)],
    [{ ...optional(65), required: ['p0'] }],
  ])('is accepted short of that: %j', (schema) => {
    expect(problemOf(schema)).toBeNull()
  })

  /** Returns a chain of schemas. Each but the last refers to the next through a property. */
  const chain = (length: number, last: object): Schema => ({
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries([
      ...Array.from({ length }, (_, i) => [`d${i}`, { properties: { a: { $ref: `#/$defs/d${i + 1}` } } }]),
      [`d${length}`, last],
    ]),
  })

  it('references may lead two thousand levels deep', () => {
    expect(problemOf(chain(999, { type: 'null' }))).toBeNull()
    expect(problemOf(chain(1_000, { type: 'null' }))).toContain(
      '#: expected at most 2000 levels in all schemas',
    )
  })
})

it('the digits of long numbers are characters of the schema', () => {
  const check = (digits: number) => () =>
    createCheckSchema()({ const: Infinity }, 'text.format', `{"const":${'1'.repeat(digits)}}`)
  expect(check(199_990)).not.toThrow()
  expect(check(200_001)).toThrow('expected at most 200000 characters')
})

describe('the schemas of one request share its limits', () => {
  const problemOfSecond = (first: Schema, second: Schema): string => {
    const checkSchema = createCheckSchema()
    checkSchema(first, 'response_format')
    try {
      checkSchema(second, 'tools[0].function.parameters')
      return 'fine'
    } catch (error) {
      return String(error)
    }
  }
  const values = (count: number) => ({ enum: Array.from({ length: count }, (_, i) => i) })
  const repeating = (patterns: number) => ({
    anyOf: Array.from({ length: patterns }, () => ({ pattern: 'a{126}' })),
  })
  const counted = (count: number) => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}])),
    minProperties: 1,
  })
  const referring = (length: number): Schema => ({
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length }, (_, i) => [
        `d${i}`,
        i + 1 < length ? { properties: { a: { $ref: `#/$defs/d${i + 1}` } } } : {},
      ]),
    ),
  })

  it.each<[first: Schema, fits: Schema, tooMuch: Schema, problem: string]>([
    [values(10_000), values(9_000), values(10_001), 'expected at most 20000 values in all schemas'],
    [
      { description: 'x'.repeat(150_000) },
      { description: 'x'.repeat(49_000) },
      { description: 'x'.repeat(50_001) },
      'expected at most 200000 characters in all schemas',
    ],
    [repeating(20), repeating(19), repeating(21), '1000 steps, 5000 in all'],
    [counted(40), counted(24), counted(25), 'expected at most 64 optional properties'],
    [referring(600), referring(300), referring(600), 'expected at most 2000 levels in all schemas'],
  ])('case %#', (...[first, fits, tooMuch, problem]) => {
    expect(problemOfSecond(first, fits)).toBe('fine')
    expect(problemOfSecond(first, tooMuch)).toContain(`'tools[0].function.parameters': wrong schema at #`)
    expect(problemOfSecond(first, tooMuch)).toContain(problem)
    expect(problemOf(tooMuch)).toBeNull()
  })
})

it('a chain of references as long as a schema may be is followed to its end', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 9_000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]),
  )
  expect(problemOf({ $ref: '#/$defs/d0', $defs: { ...$defs, d9000: { type: 'null' } } })).toContain(
    '2000 levels',
  )
  expect(problemOf({ $ref: '#/$defs/d0', $defs: { ...$defs, d9000: { $ref: '#/$defs/d0' } } })).toContain(
    'without end',
  )
})

it('what is accepted compiles, and what only refers wrongly is refused', () => {
  const ajv = new Ajv2020({ strict: false })
  const names = ['a', 'b', 'c'] as const
  const reference = fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/$defs/c', '#/$defs/missing')
  const { schema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom({ type: 'string' }, {}, { enum: [1] }),
      reference.map(($ref) => ({ $ref })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
      tie('schema').map((items) => ({ items })),
      fc.dictionary(fc.constantFrom(...names), tie('schema')).map((properties) => ({ properties })),
    ),
  }))
  let accepted = 0
  fc.assert(
    fc.property(schema, fc.record({ a: schema, b: schema, c: schema }), (root, $defs) => {
      const whole = { ...root, $defs }
      const problem = problemOf(whole)
      expect(problem ?? 'fine').toMatch(
        /^fine$|: it points at no schema\.$|: it refers to itself without end\.$/,
      )
      if (problem !== null) return
      accepted += 1
      // If a schema refers to itself without end, compiling it or validating a value with it never ends.
      ajv.compile(whole)({ a: { a: [{}] }, b: [[{ c: 1 }]] })
    }),
    { numRuns: 100 },
  )
  expect(accepted).toBeGreaterThan(15)
})
