import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConstraintError } from '#apps/simulator/constraints/constraint-error.ts'
import { valueFor } from '#apps/simulator/constraints/json-value.ts'

/** Returns a schema in which each level has ten of the next: 10^levels values. */
const wide = (levels: number): object =>
  levels === 0 ? { type: 'null' } : { type: 'array', minItems: 10, items: wide(levels - 1) }

const hints = { userText: 'How warm is it in Rome, in celsius?', text: 'Rome', variant: 0 }

describe('a value for a JSON schema', () => {
  test.each([
    [{ type: 'string' }, 'Rome'],
    [{ type: 'string', minLength: 6 }, 'Rome..'],
    [{ type: 'string', maxLength: 2 }, 'Ro'],
    [{ type: 'string', pattern: '^[A-Z]{3}$' }, 'AAA'],
    [{ type: 'string', format: 'date' }, '2024-05-17'],
    [{ enum: ['fahrenheit', 'celsius'] }, 'celsius'],
    [{ enum: [3, 4] }, 3],
    [{ const: { a: [1] } }, { a: [1] }],
    [{ type: 'integer', minimum: 3 }, 3],
    [{ type: 'integer', exclusiveMinimum: 3, multipleOf: 5 }, 5],
    [{ type: 'integer', maximum: -2 }, -2],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 }, 0.25],
    [{ type: ['null', 'boolean'] }, true],
    [{ type: 'null' }, null],
    [{ anyOf: [{ type: 'null' }, { type: 'integer' }] }, 1],
    [{ type: 'array', items: { type: 'integer' }, minItems: 2 }, [1, 1]],
    [{ type: 'array', items: { type: 'integer' }, minItems: 2, uniqueItems: true }, [1, 2]],
    [{ type: 'array', maxItems: 0 }, []],
    [{ type: 'array', prefixItems: [{ const: 1 }, { const: 2 }], items: false }, [1, 2]],
    [
      { type: 'object', properties: { b: { const: 1 }, a: { const: 2 } }, required: ['a'] },
      { b: 1, a: 2 },
    ],
    [{ type: 'object', required: ['x'], additionalProperties: { type: 'integer' } }, { x: 1 }],
    [
      { allOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { const: 2 } }, required: ['b'] }] },
      { a: 1, b: 2 },
    ],
    [true, 'Rome'],
  ])('%j', (schema, value) => {
    expect(valueFor(schema, hints)).toEqual(value)
  })

  test('local references are followed, and a recursive schema ends', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            children: { type: 'array', items: { $ref: '#/$defs/node' } },
          },
          required: ['name'],
        },
      },
    }
    expect(valueFor(tree, hints)).toMatchObject({ name: 'Rome', children: [{ name: 'Rome' }] })
  })

  const node = (next: object) => ({
    $ref: '#/$defs/node',
    $defs: {
      node: { type: 'object', properties: { v: { type: 'integer' }, next }, required: ['v', 'next'] },
    },
  })

  test.each([
    ['a list that ends in null', node({ anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] })],
    ['a list that ends in an empty list', node({ type: 'array', items: { $ref: '#' } })],
    [
      'an expression that ends in a number',
      {
        anyOf: [
          {
            type: 'object',
            properties: { left: { $ref: '#' }, right: { $ref: '#' } },
            required: ['left', 'right'],
          },
          { type: 'number' },
        ],
      },
    ],
    [
      'a wide tree of which nothing is required',
      {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`child${i}`, { $ref: '#' }])),
      },
    ],
  ])('%s ends, small', (_, schema) => {
    const value = valueFor(schema, hints)
    expect(new Ajv2020({ strict: false }).validate(schema, value)).toBe(true)
    expect(JSON.stringify(value).length).toBeLessThan(20_000)
  })

  test('a property named __proto__ is one like any other', () => {
    const schema: unknown = JSON.parse('{"type":"object","properties":{"__proto__":{"const":1}}}')
    expect(JSON.stringify(valueFor(schema, hints))).toBe('{"__proto__":1}')
  })

  test.each([
    [{ type: 'nonsense' }],
    [
      {
        type: 'object',
        properties: { a: false },
        required: ['a'],
        additionalProperties: { type: 'nonsense' },
        $ref: '#/x',
      },
    ],
    [{ $ref: '#' }],
    [{ type: 'object', required: ['a'], properties: { a: { $ref: '#' } } }],
    [false],
    [{ type: 'object', required: ['toString'], $ref: '#/constructor' }],
    [{ $ref: '#/%zz' }],
    [{ anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
    [{ type: 'array', minItems: 1_000_000_000 }],
    [{ type: 'string', minLength: 1_000_000_000 }],
    [wide(8)],
  ])('%j is refused', (schema) => {
    expect(() => valueFor(schema, hints)).toThrow(ConstraintError)
  })
})

test('a written value fits its schema, for any schema', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const names = ['a', 'b', 'c'] as const
  const { schema } = fc.letrec<{ schema: object; child: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom({ type: 'string' }, { type: 'boolean' }, { type: 'null' }, {}),
      fc.nat(9).map((least) => ({ type: 'string', minLength: least, maxLength: least + 2 })),
      fc
        .integer({ min: -9, max: 9 })
        .map((least) => ({ type: 'integer', minimum: least, maximum: least + 3 })),
      fc.constantFrom({ enum: ['x', 'y'] }, { const: { z: [1] } }, { type: ['null', 'number'] }),
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      fc
        .tuple(tie('child'), fc.nat(2))
        .map(([items, minItems]) => ({ type: 'array', items, minItems, maxItems: minItems + 1 })),
      fc
        .tuple(fc.dictionary(fc.constantFrom(...names), tie('child')), fc.subarray([...names]))
        .map(([properties, required]) => ({ type: 'object', properties, required })),
    ),
    // A reference may stand only below a property or item. ajv never ends on a schema that refers to itself directly.
    child: fc.oneof(
      tie('schema'),
      fc.constantFrom(...names).map((name) => ({ $ref: `#/$defs/${name}` })),
    ),
  }))
  let written = 0
  fc.assert(
    fc.property(schema, fc.record({ a: schema, b: schema, c: schema }), fc.nat(3), (root, $defs, variant) => {
      const whole = { allOf: [root], $defs }
      let value: unknown
      try {
        value = valueFor(whole, { ...hints, variant })
      } catch (error) {
        // A schema with an endless recursion has no value.
        if (error instanceof ConstraintError) return
        throw error
      }
      written += 1
      expect([ajv.validate(whole, value), value]).toEqual([true, value])
    }),
    { numRuns: 100 },
  )
  expect(written).toBeGreaterThan(50)
})
