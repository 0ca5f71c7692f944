import { describe, expect, test } from 'vitest'
import { ConstraintError } from '#apps/simulator/constraints/constraint-error.ts'
import { toSpacedJson } from '#apps/simulator/constraints/json-text.ts'
import { valueFor } from '#apps/simulator/constraints/json-value.ts'

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
  ])('%j is refused', (schema) => {
    expect(() => valueFor(schema, hints)).toThrow(ConstraintError)
  })
})

test('JSON is written with blanks as models write it', () => {
  expect(toSpacedJson({ name: 'f', arguments: { a: [1, 'x, y'], b: null } })).toBe(
    '{"name": "f", "arguments": {"a": [1, "x, y"], "b": null}}',
  )
})
