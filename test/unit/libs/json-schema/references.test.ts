import { expect, test } from 'vitest'
import { resolveReference } from '#libs/json-schema/references.ts'

const root = { $defs: { 'a/b%~': { const: 1 } }, anyOf: [{ const: 2 }, true] }

test.for([
  ['#', root],
  ['#/$defs/a~1b%25~0', { const: 1 }],
  ['#/anyOf/0', { const: 2 }],
  ['#/anyOf/1', true],
  ['#/anyOf/2', undefined],
  ['#/anyOf/length/x', undefined],
  ['#/constructor', undefined],
  ['#/__proto__', undefined],
  ['#/%zz', undefined],
  ['#anchor', undefined],
  ['other.json#/anyOf/0', undefined],
] as const)('%s', ([reference, value]) => {
  expect(resolveReference(root, reference)).toEqual(value)
})
