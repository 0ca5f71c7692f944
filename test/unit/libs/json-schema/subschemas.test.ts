import { expect, test } from 'vitest'
import type { JsonSchema } from '#libs/json-schema/json-schema.ts'
import { collectSubschemas, mapSubschemas, toPointer } from '#libs/json-schema/subschemas.ts'

const pointersOf = (schema: JsonSchema) =>
  collectSubschemas(schema).map((subschema) => [toPointer(subschema), subschema.inPlace])

test('schemas under one keyword, in lists and by name are found, parents first', () => {
  const schema = {
    properties: { 'a/b': { items: {} }, no: false },
    items: [{}, true],
    not: { additionalProperties: {} },
    anyOf: [{ type: 'null' }],
    dependencies: { a: ['b'], c: {} },
  }
  expect(pointersOf(schema)).toEqual([
    ['#', false],
    ['#/properties/a~1b', false],
    ['#/items/0', false],
    ['#/not', true],
    ['#/anyOf/0', true],
    ['#/dependencies/c', true],
    ['#/properties/a~1b/items', false],
    ['#/not/additionalProperties', false],
  ])
})

test('values and unknown keywords hold no schemas', () => {
  const schema = { enum: [{ items: {} }], const: { not: {} }, default: {}, 'x-order': { items: {} } }
  expect(pointersOf(schema)).toEqual([['#', false]])
  expect(mapSubschemas(schema, () => ({ changed: true }))).toEqual(schema)
})

test('the schemas that are mapped are those that are found one level down', () => {
  const schema = {
    properties: { a: { items: {} }, no: false },
    items: [{}, true],
    allOf: [{ not: {} }],
    dependencies: { a: ['b'], c: {} },
    if: { type: 'object' },
    type: 'object',
  }
  const mapped: JsonSchema[] = []
  const marked = mapSubschemas(schema, (inner) => {
    mapped.push(inner)
    return { marked: true }
  })
  const below = collectSubschemas(schema).filter(({ parent }) => parent?.parent === null)
  expect(mapped).toEqual(below.map(({ schema: inner }) => inner))
  expect(marked).toEqual({
    properties: { a: { marked: true }, no: false },
    items: [{ marked: true }, true],
    allOf: [{ marked: true }],
    dependencies: { a: ['b'], c: { marked: true } },
    if: { marked: true },
    type: 'object',
  })
})
