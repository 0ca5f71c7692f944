import { describe, expect, it } from 'vitest'
import { everyCut } from '../cuts.ts'
import { parserOf, parseWith, type Parts } from '../parse-under-test.ts'
import type { ToolCallFormatName } from '#libs/dialect/formats.ts'

const f = (args: string) => ({ name: 'f', arguments: args })

/** Calls without a marker, or in lists; text-with-calls.test.ts has those of marked objects. */
const OUTPUTS: [ToolCallFormatName, string, Partial<Parts>][] = [
  ['json', '\n{"name": "f", "parameters": {"a": "}"}}', { calls: [f('{"a": "}"}')] }],
  ['json', '{"type": "function", "name": "f", "arguments": {}}\n', { calls: [f('{}')] }],
  ['json', '{"parameters": {"a": 1}, "name": "f"}', { calls: [f('{"a": 1}')] }],
  ['json', '{"name": "f", "parameters": null}', { calls: [f('{}')] }],
  [
    'json',
    '<|python_tag|>{"name": "f", "parameters": {}}; {"name": "f", "parameters": []}',
    { calls: [f('{}'), f('[]')] },
  ],
  [
    'json',
    '[{"name": "f", "parameters": {}}, {"name": "f", "parameters": {}}]',
    { calls: [f('{}'), f('{}')] },
  ],
  ['json', '{"name": "f", "parameters": {}} That is it.', { text: 'That is it.', calls: [f('{}')] }],
  // An answer in JSON is not a call.
  ['json', '{"name": "Ada", "age": 36}', { text: '{"name": "Ada", "age": 36}' }],
  ['json', '{"name": "f"}', { text: '{"name": "f"}' }],
  ['json', '[1, {"a": 2}]', { text: '[1, {"a": 2}]' }],
  ['json', 'A {"name": "f", "parameters": {}}', { text: 'A {"name": "f", "parameters": {}}' }],
  ['json', '<|python_tag|>print(1)', { text: 'print(1)' }],
  ['functools', 'functools[{"name": "f", "arguments": {}}]', { calls: [f('{}')] }],
  ['functools', 'Use functools.reduce [1]', { text: 'Use functools.reduce [1]' }],
  [
    'mistral',
    '[TOOL_CALLS][{"name": "f", "arguments": {}},{"name": "f"}]\nB',
    { text: 'B', calls: [f('{}'), f('{}')] },
  ],
  ['mistral', '[TOOL_CALLS][]', { text: '[]' }],
  ['granite3', '<|tool_call|>[{"name": "f", "arguments": {}}]', { calls: [f('{}')] }],
  [
    'granite3',
    'A <tool_call>[{"arguments": {"a": 1}, "name": "f"}, {"name": "f"}]\nB',
    { text: 'A\nB', calls: [f('{"a": 1}'), f('{}')] },
  ],
  ['granite3', '<|tool_call|>\n{"name": "f", "arguments": {}}', { calls: [f('{}')] }],
  ['granite3', '[{"name": "f", "arguments": {}}]', { text: '[{"name": "f", "arguments": {}}]' }],
  ['granite3', 'I call <tool_call> [1]', { text: 'I call <tool_call> [1]' }],
  ['cohere', '<|START_ACTION|>[]<|END_ACTION|>', { text: '[]' }],
  [
    'cohere',
    'A<|START_ACTION|>[\n{"tool_call_id": "0", "tool_name": "f", "parameters": {}}\n]<|END_ACTION|>B',
    { text: 'A\nB', calls: [f('{}')] },
  ],
  ['json', '{"tool_name": "f", "parameters": {}}', { text: '{"tool_name": "f", "parameters": {}}' }],
  // The output ends early.
  ['json', '{"name": "f", "para', { text: '{"name": "f", "para' }],
  ['json', '{"name": "f", "parameters": {"a', { calls: [f('{"a')] }],
  ['mistral', '[TOOL_CALLS][{"name": "f"', { calls: [f('')] }],
]

describe('wherever the output is cut', () => {
  it.for(OUTPUTS)('%s: %j', ([format, output, parts]) => {
    for (const pieces of everyCut(output)) {
      expect(parseWith(format, pieces)).toEqual({ text: '', calls: [], ...parts })
    }
  })
})

it('emits an answer in JSON at its first member that no call has', () => {
  const { parser, parts } = parserOf('json')
  parser.push('{"name": "f", "ag')
  expect(parts.text).toBe('')
  parser.push('e":')
  expect(parts.text).toBe('{"name": "f", "age":')
  const other = parserOf('json')
  other.parser.push('{"name": "Ada"')
  expect(other.parts.text).toBe('{"name": "Ada"')
})
