import { describe, expect, it } from 'vitest'
import { everyCut } from '../cuts.ts'
import { parserOf, parseWith, type Parts } from '../parse-under-test.ts'
import type { ToolCallFormatName } from '#libs/dialect/formats.ts'

const search = (args: string) => ({ name: 'search', arguments: args })

const OUTPUTS: [ToolCallFormatName, string, Partial<Parts>][] = [
  // Types come from the schema, entities are unchanged, one line break at each end is markup.
  [
    'qwen3-coder',
    '<tool_call>\n<function=search>\n<parameter=text>\n42\n</parameter>\n<parameter=count>\n42\n</parameter>\n</function>\n</tool_call>',
    { calls: [search('{"text": "42", "count": 42}')] },
  ],
  [
    'qwen3-coder',
    '<function=search><parameter=text>\n\na &lt; "b"\n\n</parameter></function>',
    { calls: [search(String.raw`{"text": "\na &lt; \"b\"\n"}`)] },
  ],
  [
    'glm-4.5',
    '<tool_call>search<arg_key>text</arg_key><arg_value> a\n</arg_value></tool_call>',
    { calls: [search(String.raw`{"text": " a\n"}`)] },
  ],
  [
    'deepseek-v3.2',
    '<｜DSML｜invoke name="g"><｜DSML｜parameter name="a" string="true">1</｜DSML｜parameter><｜DSML｜parameter name="b" string="false">1</｜DSML｜parameter></｜DSML｜invoke>',
    { calls: [{ name: 'g', arguments: '{"a": "1", "b": 1}' }] },
  ],
  // No parameters at all.
  [
    'qwen3-coder',
    '<tool_call>\n<function=search>\n</function>\n</tool_call>\nB',
    { text: 'B', calls: [search('{}')] },
  ],
  ['glm-4.5', '<tool_call>search</tool_call>', { calls: [search('{}')] }],
  [
    'minimax-m2',
    '<minimax:tool_call><invoke name="search"></invoke></minimax:tool_call>',
    { calls: [search('{}')] },
  ],
  // Missing close tags.
  [
    'qwen3-coder',
    '<function=search><parameter=text>\na\n<parameter=count>\n1\n</function>',
    { calls: [search('{"text": "a", "count": 1}')] },
  ],
  ['glm-4.5', '<tool_call>search<arg_key>text</arg_key></tool_call>', { calls: [search('{}')] }],
  [
    'minimax-m2',
    '<invoke name="search"><parameter name="count">1</parameter> so B',
    { text: 'so B', calls: [search('{"count": 1}')] },
  ],
  // No call.
  [
    'qwen3-coder',
    'A <tool_call>\nno call\n</tool_call> B',
    { text: 'A <tool_call>\nno call\n</tool_call> B' },
  ],
  ['qwen3-coder', '<function=a b>', { text: '<function=a b>' }],
  ['glm-4.5', '<tool_call>{"name": "f"}</tool_call>', { text: '<tool_call>{"name": "f"}</tool_call>' }],
  ['glm-4.5', '<tool_call></tool_call>', { text: '<tool_call></tool_call>' }],
  // The output ends early: no tag gets into a value, and a number is emitted as far as it came.
  ['qwen3-coder', 'A <tool_call>\n<function=sea', { text: 'A <tool_call>\n<function=sea' }],
  ['qwen3-coder', '<function=search><parameter=te', { calls: [search('')] }],
  ['qwen3-coder', '<function=search><parameter=text>\nab</par', { calls: [search('{"text": "ab')] }],
  ['minimax-m2', '<invoke name="search"><parameter name="count">12', { calls: [search('{"count": 12')] }],
]

describe('wherever the output is cut', () => {
  it.for(OUTPUTS)('%s: %j', ([format, output, parts]) => {
    for (const pieces of everyCut(output)) {
      expect(parseWith(format, pieces)).toEqual({ text: '', calls: [], ...parts })
    }
  })
})

it('emits declared strings as they come', () => {
  const { parser, parts } = parserOf('qwen3-coder')
  parser.push('<function=search><parameter=text>\nWhat is')
  expect(parts.calls).toEqual([search('{"text": "What is')])
  parser.push(' <b>\n')
  expect(parts.calls).toEqual([search('{"text": "What is <b>')])
  parser.push('</parameter>')
  expect(parts.calls).toEqual([search(String.raw`{"text": "What is <b>"`)])
})
