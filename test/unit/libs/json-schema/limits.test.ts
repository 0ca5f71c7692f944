import { expect, test } from 'vitest'
import { isWithinLevels } from '#libs/json-schema/limits.ts'

const nested = (levels: number): object => (levels === 1 ? {} : { a: [1, nested(levels - 2)] })

test('objects and arrays count as levels, up to the limit', () => {
  expect(isWithinLevels({ a: nested(9) }, 10)).toBe(true)
  expect(isWithinLevels({ a: nested(11) }, 10)).toBe(false)
})

test('a schema deeper than the stack is measured', () => {
  let schema = {}
  for (let level = 0; level < 1_000_000; level += 1) schema = { items: schema }
  expect(isWithinLevels(schema, 100)).toBe(false)
})
