import { describe, expect, it } from 'vitest'
import { everyCut } from '../cuts.ts'
import { parseWith, type Parts } from '../parse-under-test.ts'
import type { ToolCallFormatName } from '#libs/dialect/formats.ts'

const f = (args: string) => ({ name: 'f', arguments: args })
const K = { begin: '<|tool_call_begin|>', args: '<|tool_call_argument_begin|>', end: '<|tool_call_end|>' }
const D = { begin: '<｜tool▁call▁begin｜>', sep: '<｜tool▁sep｜>', end: '<｜tool▁call▁end｜>' }

const OUTPUTS: [ToolCallFormatName, string, Partial<Parts>][] = [
  // No arguments, no JSON, too many or too few braces.
  ['kimi-k2', `${K.begin}functions.f:0${K.args}${K.end}`, { calls: [f('{}')] }],
  ['kimi-k2', `${K.begin}f${K.end}B`, { text: 'B', calls: [f('{}')] }],
  ['kimi-k2', `${K.begin}f:12${K.args}a b${K.end}B`, { text: 'B', calls: [f('a b')] }],
  ['kimi-k2', `${K.begin}f${K.args}{"a": 1}}${K.end}B`, { text: 'B', calls: [f('{"a": 1}')] }],
  ['kimi-k2', `${K.begin}f${K.args}{"a": [1${K.end}B`, { text: 'B', calls: [f('{"a": [1')] }],
  ['kimi-k2', `${K.begin}f${K.args}{"a": <1}${K.end}`, { calls: [f('{"a": <1}')] }],
  ['kimi-k2', `${K.begin}f${K.args}{"a": "${K.end}"}${K.end}`, { calls: [f(`{"a": "${K.end}"}`)] }],
  ['kimi-k2', `${K.begin}f${K.args}{}\nB`, { text: 'B', calls: [f('{}')] }],
  ['deepseek-v3', `${D.begin}function${D.sep}f\n{"a": 1}${D.end}`, { calls: [f('{"a": 1}')] }],
  ['deepseek-v3', `${D.begin}f\n\`\`\`json\n[1]\n\`\`\`${D.end}`, { calls: [f('[1]')] }],
  ['deepseek-v3.1', `${D.begin}f${D.sep}\n\`\`\`json\n{"a": 1}\n\`\`\`${D.end}`, { calls: [f('{"a": 1}')] }],
  // A fence is short: longer text is not markup and is not buffered.
  [
    'kimi-k2',
    `${K.begin}f${K.args}\`\`\`${' '.repeat(20)}{}${K.end}`,
    { calls: [f(`\`\`\`${' '.repeat(20)}{}`)] },
  ],
  ['deepseek-v3.1', `${D.begin}f${D.sep}\`\`x${D.end}`, { calls: [f('``x')] }],
  ['mistral', '[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]{"a": 1}', { calls: [f('{"a": 1}')] }],
  [
    'mistral',
    '[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{"b": []}',
    { calls: [f('{}'), { name: 'g', arguments: '{"b": []}' }] },
  ],
  ['mistral', 'A\n[TOOL_CALLS] {"name": "f", "arguments": {}}', { text: 'A', calls: [f('{}')] }],
  // No call: control tokens are no text either.
  ['kimi-k2', `A ${K.begin}no call${K.end} B`, { text: 'A no call B' }],
  ['kimi-k2', `${K.begin}${K.args}{}${K.end}`, { text: '{}' }],
  ['deepseek-v3.1', `<｜tool▁calls▁begin｜>oops<｜tool▁calls▁end｜>`, { text: 'oops' }],
  ['mistral', '[TOOL_CALLS]I may call [x](y)', { text: 'I may call [x](y)' }],
  // The output ends early.
  ['kimi-k2', `A ${K.begin}functions.f`, { text: 'A functions.f' }],
  ['kimi-k2', `${K.begin}f${K.args}{"a": "b<|tool`, { calls: [f('{"a": "b<|tool')] }],
  ['kimi-k2', `${K.begin}f${K.args}{"a": 1<|tool_call`, { calls: [f('{"a": 1')] }],
  ['deepseek-v3', `${D.begin}function${D.sep}f\n\`\`\`json\n{"a"`, { calls: [f('{"a"')] }],
]

describe('wherever the output is cut', () => {
  it.for(OUTPUTS)('%s: %j', ([format, output, parts]) => {
    for (const pieces of everyCut(output)) {
      expect(parseWith(format, pieces)).toEqual({ text: '', calls: [], ...parts })
    }
  })
})

it('text too long for a name is emitted at once', () => {
  const name = 'x'.repeat(300)
  expect(parseWith('kimi-k2', [K.begin, ...name.split('')])).toEqual({ text: name, calls: [] })
})
