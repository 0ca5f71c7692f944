import { expect, test } from 'vitest'
import { findUnsatisfiable } from '#libs/json-schema/find-unsatisfiable.ts'
import type { JsonSchema } from '#libs/json-schema/json-schema.ts'
import { checkReferences } from '#libs/json-schema/references.ts'
import { collectSubschemas } from '#libs/json-schema/subschemas.ts'

function problemOf(schema: JsonSchema): string | null {
  const subschemas = collectSubschemas(schema)
  const { problem, references } = checkReferences(schema, subschemas)
  expect(problem).toBeNull()
  return findUnsatisfiable(subschemas, references)?.pointer ?? null
}

const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
})
const ROOT = { $ref: '#' }

test.each<[string, JsonSchema]>([
  ['nothing is required', { type: 'object', properties: { a: ROOT } }],
  ['there is an end', object({ next: { anyOf: [ROOT, { type: 'null' }] } })],
  [
    'there is an end by type',
    object({ next: { type: ['object', 'null'], required: ['a'], properties: { a: ROOT } } }),
  ],
  ['a list may be empty', object({ items: { type: 'array', items: ROOT } })],
  [
    'a constant says what fits',
    object({ a: { const: { a: 1 }, type: 'object', required: ['a'], properties: { a: ROOT } } }),
  ],
  [
    'the definition that requires itself is not used',
    { $defs: { a: object({ b: { $ref: '#/$defs/a' } }) }, type: 'string' },
  ],
  ['required members have no schema', { type: 'object', required: ['a'], additionalProperties: false }],
  ['an option is true', { anyOf: [true, { type: 'string' }], type: 'string' }],
])('a schema is accepted if %s', (_, schema) => {
  expect(problemOf(schema)).toBeNull()
})

test.each<[string, JsonSchema, string]>([
  ['it requires itself', object({ a: { type: 'string' }, next: ROOT }), '#/properties/next'],
  ['it requires itself, without a type', { properties: { a: ROOT }, required: ['a'] }, '#/properties/a'],
  [
    'it requires itself by way of another',
    {
      $ref: '#/$defs/a',
      $defs: { a: object({ b: { $ref: '#/$defs/b' } }), b: object({ a: { $ref: '#/$defs/a' } }) },
    },
    '#/$defs/b/properties/a',
  ],
  ['all options require it', { anyOf: [object({ a: ROOT }), object({ b: ROOT })] }, '#/anyOf/1/properties/b'],
  [
    'one option requires itself',
    {
      $defs: { a: object({ a: { $ref: '#/$defs/a' } }) },
      anyOf: [{ type: 'string' }, { $ref: '#/$defs/a' }],
    },
    '#/$defs/a/properties/a',
  ],
  ['its parts require it', { allOf: [object({ a: ROOT })] }, '#/allOf/0/properties/a'],
  ['its items require it', { type: 'array', minItems: 1, items: ROOT }, '#/items'],
  ['its first items require it', { type: 'array', minItems: 1, prefixItems: [ROOT] }, '#/prefixItems/0'],
])('a schema is refused if %s', (_, schema, pointer) => {
  expect(problemOf(schema)).toBe(pointer)
})
