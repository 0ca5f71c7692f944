import { expect, it } from 'vitest'
import { toCurrentDraft } from '#libs/dialect/constraints/to-current-draft.ts'

const a = { type: 'string' }
const b = { type: 'integer' }

it.each([
  ['a tuple', { items: [a, b] }, { prefixItems: [a, b] }],
  ['a closed tuple', { items: [a], additionalItems: false }, { prefixItems: [a], items: false }],
  [
    'its rest',
    { items: [a], additionalItems: { items: [b] } },
    { prefixItems: [a], items: { prefixItems: [b] } },
  ],
  [
    'a tuple deep inside',
    { properties: { x: { anyOf: [{ items: [{ items: [a] }] }] } }, $defs: { y: { items: [b] } } },
    {
      properties: { x: { anyOf: [{ prefixItems: [{ prefixItems: [a] }] }] } },
      $defs: { y: { prefixItems: [b] } },
    },
  ],
])('%s is written anew', (_, schema, current) => {
  expect(toCurrentDraft(schema)).toEqual(current)
})

it.each([
  ['a list', { type: 'array', items: a, additionalItems: false }],
  [
    'a value',
    { enum: [{ items: [1] }], const: { items: [1] }, default: { items: [a] }, examples: [{ items: [] }] },
  ],
  ['properties of such names', { properties: { items: a, enum: { type: 'array' }, additionalItems: a } }],
  ['booleans', { properties: { x: true }, items: false }],
])('%s stays as it is', (_, schema) => {
  expect(toCurrentDraft(schema)).toEqual(schema)
})

it('a property named __proto__ is one like any other', () => {
  const schema: unknown = JSON.parse('{"properties": {"__proto__": {"items": [{}]}}}')
  expect(JSON.stringify(toCurrentDraft(Object(schema)))).toBe(
    '{"properties":{"__proto__":{"prefixItems":[{}]}}}',
  )
})
