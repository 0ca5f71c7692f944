import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { nameReferences } from '#libs/dialect/constraints/name-references.ts'

type Schema = Parameters<typeof nameReferences>[0]

const referencesIn = (schema: Schema) => JSON.stringify(schema).match(/(?<="\$ref":")[^"]*/g)

test('plain references stay as they are', () => {
  const schema = {
    $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } },
    properties: { root: { $ref: '#' }, a: {}, b: { $ref: '#/properties/a' } },
  }
  expect(nameReferences(schema)).toBe(schema)
})

test('names with signs in them, and ways through lists, become plain names', () => {
  const schema = {
    properties: {
      list: { $ref: '#/definitions/List%3Cstring%3E' },
      path: { $ref: '#/$defs/a~1b~0c' },
      choice: { anyOf: [{ const: 1 }, { properties: { again: { $ref: '#/properties/choice/anyOf/1' } } }] },
      other: { $ref: '#/properties/choice/anyOf/1', description: 'kept' },
    },
    definitions: { 'List<string>': { type: 'array', items: { type: 'string' } } },
    $defs: { 'a/b~c': { const: 2 }, mine: { const: 3 } },
    required: ['list'],
    additionalProperties: false,
  }
  const named = nameReferences(schema)
  for (const reference of referencesIn(named) ?? []) expect(reference).toMatch(/^#\/\$defs\/[\w-]+$/)
  expect(named).toMatchObject({
    $defs: { mine: { const: 3 } },
    properties: { other: { description: 'kept' } },
  })

  const [before, after] = [schema, named].map((one) => new Ajv2020({ strict: false }).compile(one))
  for (const value of [
    { list: ['a'], path: 2, choice: { again: { again: {} } }, other: {} },
    { list: [1] },
    { list: [], path: 3 },
    { list: [], other: { again: { again: 1 } } },
    { list: [], other: { again: 1 } },
    {},
  ]) {
    expect([value, after?.(value)]).toEqual([value, before?.(value)])
  }
})

test('what is only a value, or only named so, is no reference', () => {
  const schema = {
    enum: [{ $ref: '#/anyOf/0' }],
    default: { $ref: '#/x%20y' },
    properties: { $ref: { const: { $ref: '#/anyOf/0' } } },
  }
  expect(nameReferences(schema)).toBe(schema)
})
