import { expect, it } from 'vitest'
import { TOOL_CALL_FORMAT_NAMES } from '#libs/dialect/formats.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import { parseExact } from '#libs/json-schema/exact-json.ts'

it.each(TOOL_CALL_FORMAT_NAMES)('%s writes names and arguments of every call', (format) => {
  const calls = ['Paris', 'Oslo'].map((city) => ({
    name: `look_${city}`,
    args: { city },
    json: JSON.stringify({ city }),
  }))
  const written = openCallWriter(format)?.(calls)
  for (const word of ['look_Paris', 'look_Oslo']) expect(written).toContain(word)
  for (const word of ['Paris', 'Oslo']) expect(written?.split(word).length).toBeGreaterThan(2)
})

it('a family without calls writes none', () => {
  expect(openCallWriter('none')).toBe(null)
})

it.each(TOOL_CALL_FORMAT_NAMES)('%s writes numbers as they were', (format) => {
  const json = '{"id": 9007199254740993, "list": [1.0, 1e5]}'
  const args = parseExact(json)
  const written = openCallWriter(format)?.([{ name: 'f', args: Object(args), json }])
  expect(written).toContain('9007199254740993')
  expect(written).toContain('[1.0, 1e5]')
})
