import { describe, expect, it } from 'vitest'
import { parse, readFamily, tokenizer } from './parse-tokens.ts'

const call = (index: number, city: string) => [
  { type: 'tool-call-start', index, id: expect.any(String), name: 'get_weather' },
  { type: 'tool-call-delta', index, text: `{"city": "${city}"}` },
]

describe('as models write them', () => {
  const CALLED = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
  const ROME = '{"name": "get_weather", "arguments": {"city": "Rome"}}'
  const none = (name = 'clock') => [
    { type: 'tool-call-start', index: 0, id: expect.any(String), name },
    { type: 'tool-call-delta', index: 0, text: '{}' },
  ]

  it.for<[string, string, object[]]>([
    // Reasoning that mentions the markup of a call continues, also after a call.
    [
      'qwen3',
      '<think>The format is <tool_call>{...}</tool_call>. I answer.</think>Hello',
      [
        { type: 'reasoning-delta', text: 'The format is <tool_call>{...}</tool_call>. I answer.' },
        { type: 'text-delta', text: 'Hello' },
      ],
    ],
    [
      'qwen3',
      `<think>I ask. <tool_call>${CALLED}</tool_call> Then I answer.</think>Hello`,
      [
        { type: 'reasoning-delta', text: 'I ask.' },
        ...call(0, 'Paris'),
        { type: 'reasoning-delta', text: ' Then I answer.' },
        { type: 'text-delta', text: 'Hello' },
      ],
    ],
    // A begun tag that is never completed is text before the call. Line breaks next to the call are markup.
    [
      'qwen3',
      `<think>I ask. </thi<tool_call>${CALLED}</tool_call>\n\nThen I answer.</think>Hello`,
      [
        { type: 'reasoning-delta', text: 'I ask. </thi' },
        ...call(0, 'Paris'),
        { type: 'reasoning-delta', text: 'Then I answer.' },
        { type: 'text-delta', text: 'Hello' },
      ],
    ],
    // Several calls stand in one block, in a list, or in a code fence.
    ['hermes', `<tool_call>${CALLED}\n${ROME}</tool_call>`, [...call(0, 'Paris'), ...call(1, 'Rome')]],
    ['hermes', `<tool_call>[${CALLED}, ${ROME}]</tool_call>`, [...call(0, 'Paris'), ...call(1, 'Rome')]],
    ['hermes', `<tool_call>\n\`\`\`json\n${CALLED}\n\`\`\`\n</tool_call>`, call(0, 'Paris')],
    [
      'hermes',
      `<tool_call>${CALLED}, and so on`,
      [...call(0, 'Paris'), { type: 'text-delta', text: ', and so on' }],
    ],
    [
      'hermes',
      `<tool_call>${CALLED}\n{"no": "call"}</tool_call>`,
      [...call(0, 'Paris'), { type: 'text-delta', text: '{"no": "call"}</tool_call>' }],
    ],
    // In a format without markers, an answer in JSON is a call only if it names an offered tool.
    ['llama3', CALLED, call(0, 'Paris')],
    [
      'llama3',
      '{"name": "Ada", "parameters": {"age": 36}}',
      [{ type: 'text-delta', text: '{"name": "Ada", "parameters": {"age": 36}}' }],
    ],
    [
      'llama3',
      '{"parameters": {"age": 36}, "name": "Ada"}',
      [{ type: 'text-delta', text: '{"parameters": {"age": 36}, "name": "Ada"}' }],
    ],
    ['llama4', '[sin(x=1), 2]', [{ type: 'text-delta', text: '[sin(x=1), 2]' }]],
    [
      'llama4',
      '<|python_start|>[sin(x=1)]',
      [
        { type: 'tool-call-start', index: 0, id: expect.any(String), name: 'sin' },
        { type: 'tool-call-delta', index: 0, text: '{"x": 1}' },
      ],
    ],
    // Arguments that are null count as no arguments.
    ['hermes', '<tool_call>{"name": "clock", "arguments": null}</tool_call>', none()],
    ['gpt-oss', '<|channel|>commentary to=functions.clock<|message|>null<|call|>', none()],
    ['gpt-oss', '<|channel|>commentary to=functions.clock<|message|> null', none()],
    [
      'deepseek-v3.1',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>clock<｜tool▁sep｜>null<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      none(),
    ],
    [
      'deepseek-v3',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>clock\n```json\nnull\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      none(),
    ],
    [
      'deepseek-v3',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>clock\n```json\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      none(),
    ],
  ])('%s: %s', async ([family, written, events]) => {
    const options = { family: readFamily(family) }
    const ids = Array.from(await tokenizer.encode(written), (id) => [id])
    expect(parse(ids, options).events).toEqual(events)
    expect(parse([ids.flat()], options).events).toEqual(events)
  })
})

it('calls without markers are read at the beginning of the answer, behind the reasoning', async () => {
  const written = '<think>I ask.</think>\n{"name": "get_weather", "parameters": {"city": "Paris"}}'
  const ids = Array.from(await tokenizer.encode(written), (id) => [id])
  const family = { ...readFamily('qwen3.5'), toolCalls: 'json' as const }
  expect(parse(ids, { family }).events).toEqual([
    { type: 'reasoning-delta', text: 'I ask.' },
    ...call(0, 'Paris'),
  ])
})
