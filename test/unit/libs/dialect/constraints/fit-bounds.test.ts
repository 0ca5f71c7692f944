import { expect, it } from 'vitest'
import { fitBounds } from '#libs/dialect/constraints/fit-bounds.ts'
import { parseExact } from '#libs/json-schema/exact-json.ts'
import { isJsonObject } from '#libs/json-schema/json-schema.ts'

function fit(bounds: string, type = '"integer"'): string {
  const schema = parseExact(`{"type":${type},${bounds}}`)
  if (!isJsonObject(schema)) throw new Error('the schema is no object')
  const { type: _, ...fitted } = fitBounds(schema)
  return JSON.stringify(fitted)
}

// What xgrammar 0.1.25 holds was seen by compiling these schemas with its `_json_schema_to_ebnf`.
it.each([
  ['"minimum":-9223372036854775808,"maximum":9223372036854775807', null],
  ['"minimum":9007199254740993,"exclusiveMaximum":9007199254740995', null],
  ['"minimum":0,"maximum":100', null],
  ['"minimum":-9223372036854775809,"maximum":9223372036854775808', '{}'],
  ['"minimum":1,"maximum":1e30', '{"minimum":1}'],
  ['"exclusiveMinimum":9223372036854775807,"exclusiveMaximum":-9223372036854775808', '{}'],
  ['"exclusiveMinimum":9223372036854775806', null],
  ['"minimum":1.0,"maximum":1e5', '{"minimum":1,"maximum":100000}'],
  ['"minimum":0.5,"maximum":-1.5', '{"minimum":1,"maximum":-2}'],
  ['"exclusiveMinimum":0.5,"exclusiveMaximum":2.5', '{"exclusiveMinimum":0,"exclusiveMaximum":3}'],
  [`"maximum":${'9'.repeat(10_000)}`, '{}'],
  ['"maximum":1e400', '{}'],
  ['"multipleOf":2.0,"default":1e30', null],
])('bounds of an integer: %s', (bounds, fitted) => {
  expect(fit(bounds)).toBe(fitted ?? `{${bounds}}`)
})

it.each([
  ['"minimum":1.0,"maximum":2.50', null],
  ['"minimum":-0.0,"maximum":1e5', null],
  ['"minimum":-1e19,"maximum":9223372036854775807', '{}'],
  ['"minimum":1e400,"maximum":9223372036854774784', '{"maximum":9223372036854774784}'],
])('bounds of a number: %s', (bounds, fitted) => {
  expect(fit(bounds, '["number","null"]')).toBe(fitted ?? `{${bounds}}`)
  expect(fit(bounds, '["integer","number"]')).toBe(fitted ?? `{${bounds}}`)
})

it.each([
  ['"minLength":1.0,"maxLength":1e1', '{"minLength":1,"maxLength":10}'],
  ['"maxLength":2147483647', null],
  ['"minItems":2,"maxItems":2147483648', '{"minItems":2}'],
  ['"maxProperties":9223372036854775807', '{}'],
])('counts: %s', (bounds, fitted) => {
  expect(fit(bounds, '"string"')).toBe(fitted ?? `{${bounds}}`)
})

it('bounds inside a schema are fitted, and values that look like bounds are not', () => {
  const inside = { type: ['integer', 'null'], maximum: 2 ** 64 }
  const schema = {
    properties: { maximum: inside, a: { anyOf: [inside] } },
    $defs: { b: { items: inside } },
    enum: [inside],
    const: { maxItems: 2 ** 40 },
  }
  const fitted = { type: ['integer', 'null'] }
  expect(fitBounds(schema)).toEqual({
    properties: { maximum: fitted, a: { anyOf: [fitted] } },
    $defs: { b: { items: fitted } },
    enum: [inside],
    const: { maxItems: 2 ** 40 },
  })
})
