import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTextWithCalls, type TextSyntax } from '#libs/dialect/syntax/text-with-calls.ts'
import { expectEqual } from '#test/support/expect-equal.ts'
import { runs } from '#test/support/long.ts'
import { cutAnywhere, everyCut } from '../cuts.ts'
import { parseWith } from '../parse-under-test.ts'

const syntax: TextSyntax = {
  type: 'text',
  calls: { '<tool_call>': { type: 'object', close: '</tool_call>', strict: false } },
}
const HERMES = { syntax, tools: [] }

type Parts = { text: string; calls: { name: string; arguments: string }[] }

function parse(pieces: readonly string[], single = false): Parts {
  const parts: Parts = { text: '', calls: [] }
  const sink: Parameters<typeof createTextWithCalls>[0] = {
    onText: (text) => (parts.text += text),
    onStart: (name) => parts.calls.push({ name, arguments: '' }),
    onArguments(text) {
      const call = parts.calls.at(-1)
      if (call === undefined) throw new Error('arguments before a call')
      call.arguments += text
    },
  }
  const parser = createTextWithCalls(sink, { ...HERMES, single })
  for (const piece of pieces) parser.push(piece)
  parser.finish()
  return parts
}

const f = (argumentsText: string) => ({ name: 'f', arguments: argumentsText })

const WELL_FORMED: [string, Parts][] = [
  [
    'Let me check.\n<tool_call>\n{"name": "f", "arguments": {"city": "Paris"}}\n</tool_call>',
    { text: 'Let me check.', calls: [f('{"city": "Paris"}')] },
  ],
  [
    '\n\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\n<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>\n',
    { text: '', calls: [f('{"a": 1}'), { name: 'g', arguments: '{}' }] },
  ],
  [
    '<tool_call>{"arguments": {"a" : [ {"b": 1.0} ] }, "name": "f"}</tool_call>',
    { text: '', calls: [f('{"a" : [ {"b": 1.0} ] }')] },
  ],
  [
    String.raw`<tool_call>{"name": "f", "arguments": {"s": "a \"}</tool_call>\\", "t": "\u00e9"}}</tool_call>`,
    { text: '', calls: [f(String.raw`{"s": "a \"}</tool_call>\\", "t": "\u00e9"}`)] },
  ],
  ['<tool_call>{"name": "f"}</tool_call>', { text: '', calls: [f('{}')] }],
  ['<tool_call>{"name": "f", "arguments": null}</tool_call>', { text: '', calls: [f('{}')] }],
  [
    '<tool_call>{"id": 7, "x": {"name": "no"}, "y": [1], "name": "f", "arguments": [1]}</tool_call>',
    { text: '', calls: [f('[1]')] },
  ],
  [
    String.raw`<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>`,
    { text: '', calls: [f('{"a": 1}')] },
  ],
  ['<tool_call>{"name": "f", "arguments": "a b"}</tool_call>', { text: '', calls: [f('"a b"')] }],
  ['A\n<tool_call>{"name": "f", "arguments": {}}</tool_call>\nB\n', { text: 'A\nB', calls: [f('{}')] }],
  ['<tool_call>{"name": "f", "arguments": {}}</tool_call>\n\nB', { text: 'B', calls: [f('{}')] }],
  ['just text, 1 < 2, <tool_calls>\n', { text: 'just text, 1 < 2, <tool_calls>\n', calls: [] }],
]

const MALFORMED: [string, Parts][] = [
  // No call: all of it is text.
  ['A\n<tool_call>oops</tool_call>', { text: 'A\n<tool_call>oops</tool_call>', calls: [] }],
  ['<tool_call>{"nome": "f"}</tool_call>!', { text: '<tool_call>{"nome": "f"}</tool_call>!', calls: [] }],
  ['<tool_call>{"name": 7}</tool_call>', { text: '<tool_call>{"name": 7}</tool_call>', calls: [] }],
  ['<tool_call>{"name": ""}</tool_call>', { text: '<tool_call>{"name": ""}</tool_call>', calls: [] }],
  [
    '<tool_call>{"arguments": {"a": 1</tool_call> B',
    { text: '<tool_call>{"arguments": {"a": 1</tool_call> B', calls: [] },
  ],
  [
    '<tool_call>get_weather\n<arg_key>city</arg_key></tool_call>',
    { text: '<tool_call>get_weather\n<arg_key>city</arg_key></tool_call>', calls: [] },
  ],
  // A second open tag begins again.
  [
    '<tool_call>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    { text: '<tool_call>', calls: [f('{}')] },
  ],
  // Too many or too few braces, as models write them.
  ['<tool_call>{"name": "f", "arguments": {"a": 1}}}\n</tool_call>', { text: '', calls: [f('{"a": 1}')] }],
  ['<tool_call>{"name": "f", "arguments": {"a": 1}\n</tool_call>B', { text: 'B', calls: [f('{"a": 1}')] }],
  ['<tool_call>{"name": "f", "arguments": {"a": [1\n</tool_call>B', { text: 'B', calls: [f('{"a": [1\n')] }],
  ['<tool_call>{"name": "f"</tool_call>', { text: '', calls: [f('{}')] }],
  ['<tool_call>{"name": "f", "arguments": {"a": <b>}}</tool_call>', { text: '', calls: [f('{"a": <b>}')] }],
  ['<tool_call>{"name": "f", "arguments": {}} and so on', { text: 'and so on', calls: [f('{}')] }],
  [
    '<tool_call>{"name": "f", "arguments": {}}\n<tool_call>{"name": "f", "arguments": {}}</tool_call>',
    { text: '', calls: [f('{}'), f('{}')] },
  ],
  // The output ends early.
  ['A\n<tool_', { text: 'A\n<tool_', calls: [] }],
  ['<tool_call>\n{"name": "f', { text: '<tool_call>\n{"name": "f', calls: [] }],
  ['<tool_call>\n{"name": "f", "argum', { text: '', calls: [f('')] }],
  ['<tool_call>\n{"name": "f", "arguments": {"city": "Par', { text: '', calls: [f('{"city": "Par')] }],
  ['<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_', { text: '', calls: [f('{"a": 1}')] }],
  ['<tool_call>\n{"name": "f", "arguments": "a b', { text: '', calls: [f('"a b')] }],
]

describe('wherever the output is cut', () => {
  it.for(WELL_FORMED)('%j is read as its calls and its text', ([output, parts]) => {
    for (const pieces of everyCut(output)) expect(parse(pieces)).toEqual(parts)
  })

  it.for(MALFORMED)('%j is read as far as possible', ([output, parts]) => {
    for (const pieces of everyCut(output)) expect(parse(pieces)).toEqual(parts)
  })

  it('random mixtures of markup and text come out the same', () => {
    const markup = [
      '<tool_call>',
      '</tool_call>',
      '{"name": "f", "arguments": ',
      '{"arguments": ',
      '"name": "g"',
    ]
    const unit = fc.constantFrom(...markup, ...'{}[]"\\:,\n x1<'.split(''), 'null', '</tool')
    const output = fc.array(unit, { maxLength: 20 }).map((units) => units.join('').split(''))
    fc.assert(
      fc.property(
        output.chain((units) => fc.tuple(fc.constant(units), cutAnywhere(units))),
        ([units, pieces]) => {
          expectEqual(parse(pieces.map((piece) => piece.join(''))), parse([units.join('')]))
        },
      ),
      { numRuns: runs(2_000, 10_000) },
    )
  })

  it('any JSON arguments come out as they were written', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.boolean(),
        fc.nat(),
        (value, nameFirst, at) => {
          const json = JSON.stringify(value, null, at % 3)
          const members = ['"name": "f"', `"arguments": ${json}`]
          const object = (nameFirst ? members : members.reverse()).join(', ')
          const output = `<tool_call>\n{${object}}\n</tool_call>`
          const cut = at % output.length
          expect(parse([output.slice(0, cut), output.slice(cut)])).toEqual({ text: '', calls: [f(json)] })
        },
      ),
      { numRuns: runs(500, 2000) },
    )
  })
})

it('emits the name as soon as it is known and the arguments as they come', () => {
  const out: string[] = []
  const parser = createTextWithCalls(
    {
      onText: (text) => out.push(`text ${text}`),
      onStart: (name) => out.push(`start ${name}`),
      onArguments: (text) => out.push(`arguments ${text}`),
    },
    { ...HERMES, single: false },
  )
  parser.push('Hi <')
  parser.push('b>\n<tool_call>{"name": "f"')
  parser.push(', "arguments": {"ci')
  parser.push('ty": "Par')
  parser.push('is"}')
  parser.push('}\n</tool_call>')
  expect(out).toEqual([
    'text Hi',
    'text  <b>',
    'start f',
    'arguments {"ci',
    'arguments ty": "Par',
    'arguments is"}',
  ])
})

it('loses no text when blanks never end', () => {
  const blanks = Array.from({ length: 20_000 }, () => '\n')
  expect(parse(['x', ...blanks])).toEqual({ text: `x${blanks.join('')}`, calls: [] })
})

describe('an output that ends after its first call', () => {
  const first = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'

  it.for([
    [`${first}\n${first} and more`, { text: '', calls: [f('{"a": 1}')] }],
    [`Look:\n${first}`, { text: 'Look:', calls: [f('{"a": 1}')] }],
    ['<tool_call>{"name": "f", "arguments": {}} text', { text: '', calls: [f('{}')] }],
    [
      `<tool_call>no call</tool_call>${first}x`,
      { text: '<tool_call>no call</tool_call>', calls: [f('{"a": 1}')] },
    ],
    ['<tool_call>{"name": "f", "arguments": {"cut', { text: '', calls: [f('{"cut')] }],
    ['no call at all', { text: 'no call at all', calls: [] }],
  ] as const)('%j', ([output, parts]) => {
    for (const pieces of everyCut(output)) expect(parse(pieces, true)).toEqual(parts)
  })

  it('is over with the last character of the call, not before', () => {
    const ignore = () => {}
    const sink = { onText: ignore, onStart: ignore, onArguments: ignore }
    const parser = createTextWithCalls(sink, { ...HERMES, single: true })
    parser.push(first.slice(0, -1))
    expect(parser.isOver()).toBe(false)
    parser.push(first.slice(-1))
    expect(parser.isOver()).toBe(true)
    const several = createTextWithCalls(sink, { ...HERMES, single: false })
    several.push(first)
    expect(several.isOver()).toBe(false)
  })
})

it.for([
  ['deepseek-v3', 'Hello<｜tool▁call▁end｜>, you<｜tool▁sep｜>!'],
  ['deepseek-v3.1', 'Hello<｜tool▁call▁end｜>, you<｜tool▁sep｜>!'],
  ['kimi-k2', 'Hello<|tool_call_end|>, you<|tool_call_argument_begin|>!'],
  ['mistral', 'Hello[ARGS], you!'],
  ['cohere', 'Hello<|END_ACTION|>, you!'],
  ['pythonic', 'Hello<|python_end|>, you!'],
] as const)('%s: a control token that belongs to no call is no text', ([format, output]) => {
  for (const pieces of everyCut(output)) {
    expect(parseWith(format, pieces)).toEqual({ text: 'Hello, you!', calls: [] })
  }
})
