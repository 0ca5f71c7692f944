import { describe, expect, test } from 'vitest'
import { CompileError } from '#apps/simulator/constraints/compile-error.ts'
import { ConstraintError } from '#apps/simulator/constraints/constraint-error.ts'
import { DEAD_END } from '#apps/simulator/constraints/dead-end.ts'
import { textMatching } from '#apps/simulator/constraints/regex-text.ts'

describe('a text for a regular expression', () => {
  test.each([
    'Hello world',
    '(red|green|blue) car',
    '[a-z]{3}END[a-z]{3}',
    String.raw`\{"city": "(Paris|Rome)", "days": [1-9]\}`,
    String.raw`^\d{4}-\d{2}-\d{2}$`,
    String.raw`[^\d\s]+@\w+\.(com|org)`,
    'a?b*c+?(?:de){2,}',
    String.raw`\+49 [0-9 ]{5,12}`,
    String.raw`[\]\-a]x[^a-z]`,
    String.raw`é\t\x41\u0042.`,
    String.raw`[^\S]x[^\Wa]`,
    String.raw`[^\x00-\uffff]`,
    '(?P<year>[12][0-9]{3})|none',
    '',
  ])('%s', (pattern) => {
    // Rust writes named groups as Python does.
    const javascript = new RegExp(`^(?:${pattern.replaceAll('(?P<', '(?<')})$`, 'u')
    for (const variant of [0, 1, 2, 7]) expect(textMatching(pattern, variant)).toMatch(javascript)
  })

  test('the variant picks the alternative', () => {
    expect([0, 1, 2, 3].map((variant) => textMatching('red|green|blue', variant))).toEqual([
      'red',
      'green',
      'blue',
      'red',
    ])
  })

  test.each(['([a-z', '(a', 'a)', '*a', '(a{99}){128}', '(?=a)b', 'a\\', '[z-a]', String.raw`\p{L}`])(
    '%s is refused',
    (pattern) => {
      expect(() => textMatching(pattern, 0)).toThrow(ConstraintError)
    },
  )

  test.each([String.raw`ab[^\s\S]`, String.raw`ab[^\D0-9]`, String.raw`ab[\ud800]`])(
    'after the first characters of %s there is a dead end',
    (pattern) => {
      expect(textMatching(pattern, 0)).toBe(`ab${DEAD_END}`)
    },
  )

  test.each(['a{129}', '[a-z]{0,129}', '(a{129,})'])('%s does not compile', (pattern) => {
    expect(() => textMatching(pattern, 0)).toThrow(CompileError)
  })
})
