import { expect, it } from 'vitest'
import { TOOL_CALL_FORMAT_NAMES } from '#libs/dialect/formats.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'

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
