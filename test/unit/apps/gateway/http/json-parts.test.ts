import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonParts } from '#apps/gateway/http/json-parts.ts'

const blank = fc.stringMatching(/^[ \t\r\n]{0,2}$/)

/** Generates JSON texts with blanks at every place where JSON allows them. */
const spaced = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), blank, fc.boolean())
  .map(([value, space, pretty]) => space + JSON.stringify(value, null, pretty ? 2 : 0) + space)

it('the parts of a text are those that JSON.parse returns', () => {
  fc.assert(
    fc.property(spaced, (json) => {
      const value: unknown = JSON.parse(json)
      const parts = [...jsonParts(json)].map(([name, text]) => [name, JSON.parse(text)])
      const expected = typeof value === 'object' && value !== null ? Object.entries(value) : []
      expect(Object.fromEntries(parts)).toEqual(Object.fromEntries(expected))
      expect(parts).toHaveLength(expected.length)
    }),
    { examples: [['{"a\\"b":"\\\\","c":["]",{"}":","}]}'], ['[]'], [' { } '], ['{"__proto__":1}'], ['12']] },
  )
})

it('texts are those of the caller, and of a repeated name the last one', () => {
  expect([...jsonParts('{ "a" : 1.0 , "b":[1e5, 2],"a": -0.0 }')]).toEqual([
    ['a', '-0.0'],
    ['b', '[1e5, 2]'],
  ])
})
