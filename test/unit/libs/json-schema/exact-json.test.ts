import { expect, it } from 'vitest'
import { mayChange, numberText, parseExact } from '#libs/json-schema/exact-json.ts'
import { PYTHON_NUMBERS } from '#test/support/python-numbers.ts'

const finite = PYTHON_NUMBERS.map(([written]) => written).filter((text) => Number.isFinite(Number(text)))

it.each(finite)('%s is written as it was', (written) => {
  expect(JSON.stringify(parseExact(`{"a":[${written},"${written}"]}`))).toMatch(`{"a":[${written},`)
  expect(numberText(parseExact(written))).toBe(written)
})

it('a number beyond every double is none to write', () => {
  expect(parseExact('[1e400]')).toEqual([Infinity])
})

it('only numbers have a text', () => {
  for (const json of ['"1.0"', 'null', '[1.0]', '{"rawJSON":"1.0"}'])
    expect(numberText(parseExact(json))).toBeNull()
})

it('every text that JavaScript writes otherwise is found', () => {
  const changed = PYTHON_NUMBERS.filter(([written]) => JSON.stringify(Number(written)) !== written)
  expect(changed.length).toBeGreaterThan(80)
  for (const [written] of changed)
    expect([written, mayChange(`{"minimum":${written}}`)]).toEqual([written, true])
  expect(mayChange('{"b":1, "2" : {}}')).toBe(true)
})

it('usual schemas are not taken for such texts', () => {
  const schema = {
    title: 'Since 2024-01-05',
    minimum: -0.5,
    maximum: 100,
    multipleOf: 0.05,
    default: 1_000_000,
  }
  expect(mayChange(JSON.stringify({ type: 'object', properties: { a1: schema } }))).toBe(false)
})
