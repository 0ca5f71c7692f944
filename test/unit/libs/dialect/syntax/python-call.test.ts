import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { everyCut } from '../cuts.ts'
import { parserOf, parseWith, type Parts } from '../parse-under-test.ts'

const f = (args: string) => ({ name: 'f', arguments: args })
const g = (args: string) => ({ name: 'g', arguments: args })

const CALLS: [string, Partial<Parts>][] = [
  ['[f(a="b", c=3), g()]', { calls: [f('{"a": "b", "c": 3}'), g('{}')] }],
  ['\n [ f( a = "b" ,c=[1], ) , g( ) ]\n', { calls: [f('{"a": "b", "c": [1]}'), g('{}')] }],
  ['[f(a=)", b="x)")]', { text: '[f(a=)", b="x)")]' }],
  ['[f(a=")]", b=\'[g(\')]', { calls: [f('{"a": ")]", "b": "[g("}')] }],
  ['[f()]', { calls: [f('{}')] }],
  ['[f(),]', { calls: [f('{}')] }],
  [
    '[weather.get-now(größe=1, max-n=2)]',
    { calls: [{ name: 'weather.get-now', arguments: '{"größe": 1, "max-n": 2}' }] },
  ],
  // Llama 4 may mark calls like this.
  ['<|python_start|>[f(a=1)]<|python_end|>', { calls: [f('{"a": 1}')] }],
  [
    'Let me see. <|python_start|>[f(a=1), g()]<|python_end|>',
    { text: 'Let me see.', calls: [f('{"a": 1}'), g('{}')] },
  ],
  ['<|python_start|>print(1)<|python_end|>', { text: 'print(1)' }],
  // Some templates ask for calls in JSON.
  ['{"name": "f", "parameters": {"a": "["}}', { calls: [f('{"a": "["}')] }],
  ['{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}', { calls: [f('{}'), g('{}')] }],
  ['[{"name": "f", "parameters": {}}, {"name": "g", "parameters": {}}]', { calls: [f('{}'), g('{}')] }],
  ['<|python_tag|>{"name": "f", "parameters": {}}', { calls: [f('{}')] }],
  // What follows is text.
  ['[f(a=1)]\nThat is it.', { text: 'That is it.', calls: [f('{"a": 1}')] }],
  ['[f(a=1)] g(b=2)', { text: 'g(b=2)', calls: [f('{"a": 1}')] }],
]

const NO_CALLS = [
  '[link](https://example.org)',
  '[1, 2, {"a": 3}]',
  '[]',
  '["f(a=1)"]',
  '[Smith (2020)](a=1)',
  '[f(x) for x in y]',
  '[f("positional")]',
  '[f(**rest)]',
  '[f(a=b)]',
  '[f(a=Paris, b="c")]',
  '[f(a)]',
  '[f(a b=1)]',
  '[f(,)]',
  '[f(1a=2)]',
  '[(a=1)]',
  '[f() is what it calls]',
  'f(a=1)',
  'Use [f(a=1)].',
  '- [ ] f(a=1)',
]

const CUT: [string, Partial<Parts>][] = [
  // Nothing is certain yet.
  ['[', { text: '[' }],
  ['\n[f', { text: '\n[f' }],
  ['[f(', { text: '[f(' }],
  ['[f(a=', { text: '[f(a=' }],
  ['[f(a=12', { text: '[f(a=12' }],
  // Arguments go as far as they came.
  ['[f(a="b', { calls: [f('{"a": "b')] }],
  ['[f(a="b", c', { calls: [f('{"a": "b"')] }],
  ['[f(a=["b", Tr', { calls: [f('{"a": ["b"')] }],
  ['[f(a=1)', { calls: [f('{"a": 1}')] }],
  ['[f()', { calls: [f('{}')] }],
  ['[f(a=1), g(', { text: 'g(', calls: [f('{"a": 1}')] }],
]

const MALFORMED: [string, Partial<Parts>][] = [
  ['[f(a=1, b=x + 1)]', { text: ', b=x + 1)]', calls: [f('{"a": 1')] }],
  ['[f(a=1, "b")]', { text: ', "b")]', calls: [f('{"a": 1')] }],
  ['[f(a="b" "c")]', { text: '"c")]', calls: [f('{"a": "b"')] }],
  ['[f(a=[1, x])]', { text: 'x])]', calls: [f('{"a": [1')] }],
  ['[f(a=1, g(b=2))]', { text: ', g(b=2))]', calls: [f('{"a": 1')] }],
  ['[f(a=1]', { calls: [f('{"a": 1')] }],
  ['[f(a=1), g(b)]', { text: 'g(b)]', calls: [f('{"a": 1}')] }],
]

describe('wherever the output is cut', () => {
  it.for([...CALLS, ...CUT, ...MALFORMED])('%j', ([output, parts]) => {
    for (const pieces of everyCut(output)) {
      expect(parseWith('pythonic', pieces)).toEqual({ text: '', calls: [], ...parts })
    }
  })

  it.for(NO_CALLS)('%j is text', (output) => {
    for (const pieces of everyCut(output)) {
      expect(parseWith('pythonic', pieces)).toEqual({ text: output, calls: [] })
    }
  })
})

it('text that is not a call is kept completely', () => {
  const unit = fc.constantFrom(
    '[f(',
    '[',
    'a=',
    'b',
    ')',
    ']',
    ', ',
    ' ',
    '"',
    "'",
    '1',
    '[1]',
    '{"',
    '\n',
    '\\',
  )
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 8 }), (units) => {
      const { calls, text } = parseWith('pythonic', units)
      expect(calls.length > 0 ? units.join('') : text).toBe(units.join(''))
    }),
    { numRuns: 3000 },
  )
})

it('emits text that begins like a call at the first invalid character', () => {
  for (const [fits, next] of [
    ['[link', ']'],
    ['[see', ' '],
    ['[f(x', ')'],
    ['[f(a=b', ','],
    ['[f()', ' i'],
    ['[', '1'],
  ] as const) {
    const { parser, parts } = parserOf('pythonic')
    parser.push(fits)
    expect(parts).toEqual({ text: '', calls: [] })
    parser.push(next)
    expect(parts).toEqual({ text: `${fits}${next}`.trimEnd(), calls: [] })
  }
})

it('text too long for a name or a keyword is emitted at once', () => {
  for (const output of [`[${'x'.repeat(300)}`, `[f(${'x'.repeat(600)}`]) {
    const { parser, parts } = parserOf('pythonic')
    parser.push(output)
    expect(parts).toEqual({ text: output, calls: [] })
  }
})

it('starts a call with its first value, and emits its arguments as they come', () => {
  const { parser, parts } = parserOf('pythonic')
  parser.push('[search(text=')
  expect(parts.calls).toEqual([])
  parser.push('"lorem')
  expect(parts.calls).toEqual([{ name: 'search', arguments: '{"text": "lorem' }])
  parser.push(' ipsum", count=1')
  expect(parts.calls).toEqual([{ name: 'search', arguments: '{"text": "lorem ipsum"' }])
  parser.push('2)')
  expect(parts.calls).toEqual([{ name: 'search', arguments: '{"text": "lorem ipsum", "count": 12}' }])
})

it('is over with its only call: after its arguments, or where a call without arguments is certain', () => {
  for (const [call, last] of [
    ['[f(a=1', ')'],
    ['[f()', ','],
    ['[f()', ']'],
  ] as const) {
    const { parser } = parserOf('pythonic', { single: true })
    parser.push(call)
    expect(parser.isOver()).toBe(false)
    parser.push(last)
    expect(parser.isOver()).toBe(true)
  }
})
