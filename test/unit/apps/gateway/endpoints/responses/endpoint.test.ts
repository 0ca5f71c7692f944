import { describe, expect, it } from 'vitest'
import { prepare, refusal } from './responses-answer.ts'

const flat = { type: 'function', name: 'f' }
const user = { role: 'user', content: 'Hi' }

describe('a refusal', () => {
  it('comes in the order of the interface: required fields, the model, then values', () => {
    const bad = { temperature: 'hot', n: 2 }
    expect(() => prepare({ ...bad, model: undefined, input: undefined })).toThrow(
      refusal('model', 'required'),
    )
    expect(() => prepare({ ...bad, model: 'nope', input: null })).toThrow(refusal('input', 'required'))
    expect(() => prepare({ ...bad, model: 'nope' })).toThrow(
      expect.objectContaining({ code: 'model_not_found', message: `Unknown model 'nope'` }),
    )
    expect(() => prepare({ ...bad, model: 5 })).toThrow(refusal('model'))
    expect(() => prepare({}, { kind: 'embedding' })).toThrow(
      expect.objectContaining({ code: 'model_not_found' }),
    )
  })

  it.each<[field: string, value: unknown, message: string, param?: string]>([
    ['previous_response_id', 'resp_1', 'send the earlier items in input'],
    ['conversation', 'conv_1', 'send the earlier items in input'],
    ['conversation', { id: 'conv_1' }, 'keeps no state'],
    ['background', true, 'false'],
    ['prompt', { id: 'pmpt_1' }, 'input'],
    ['max_tool_calls', 3, 'not supported'],
    ['moderation', {}, 'not supported'],
    ['context_management', [{ type: 'compaction' }], 'an empty array'],
    ['truncation', 'middle', '"disabled" or "auto"'],
    ['include', 'all', 'an array'],
    ['top_logprobs', 21, 'from 0 to 20'],
    ['top_logprobs', -1, 'from 0 to 20'],
    ['top_logprobs', 1.5, 'whole number'],
    ['logprobs', true, 'false'],
    ['n', 2, '1'],
    ['temperature', 3, 'from 0 to 2'],
    ['max_output_tokens', 0, 'at least 1'],
    ['max_output_tokens', 1.5, 'whole number'],
    ['reasoning', 'high', 'an object'],
    ['reasoning_effort', 'minimal', 'off, low, high, max, none'],
    ['instructions', [], 'text'],
    ['stream', 'yes', 'true or false'],
    ['metadata', { a: 1 }, 'at most 16 texts', 'metadata.a'],
    ['metadata', 'x', 'an object'],
    ['user', 'u'.repeat(513), '512'],
    ['input', 5, 'text or an array of items'],
    ['input', [], 'at least one item'],
    ['input', ['Hi'], 'an item', 'input[0]'],
    ['input', [{ type: 'teapot' }], `'teapot'`, 'input[0].type'],
    ['input', [{ type: 5 }], 'expected one of message, function_call', 'input[0].type'],
    ['input', [{ role: 'tool', content: 'r', tool_call_id: 'c' }], 'function_call_output', 'input[0].role'],
    [
      'input',
      [user, { role: 'assistant', content: '', tool_calls: [{}] }],
      'item of type function_call',
      'input[1].tool_calls',
    ],
    [
      'input',
      [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }],
      `parts of type 'input_image' are not supported by this model; expected {"type":"input_text","text":…}`,
      'input[0].content[0]',
    ],
    [
      'input',
      [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_file', file_id: 'x' },
          ],
        },
      ],
      `parts of type 'input_file' are not supported`,
      'input[0].content[1]',
    ],
    [
      'input',
      [user, { type: 'function_call_output', call_id: 'c', output: [{ type: 'teapot' }] }],
      `parts of type 'teapot' are not supported`,
      'input[1].output[0]',
    ],
    [
      'input',
      [{ type: 'tool_search_output', tools: [{ type: 'function' }] }],
      'text',
      'input[0].tools[0].name',
    ],
    [
      'tools',
      [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }],
      'text',
      'tools[0].tools[0].name',
    ],
    ['tools', [{ type: 'namespace', tools: [] }], 'text', 'tools[0].name'],
    ['input', [{ type: 'computer_call', call_id: 'c' }], `'computer_call'`, 'input[0].type'],
    [
      'input',
      [{ type: 'compaction', encrypted_content: 'x' }],
      'send the items that it replaces',
      'input[0].type',
    ],
    ['input', [{ type: 'custom_tool_call', call_id: 'c', name: 'f' }], 'text', 'input[0].input'],
    ['input', [{ type: 'local_shell_call', call_id: 'c' }], 'an object', 'input[0].action'],
    ['input', [{ role: 'user' }], 'text', 'input[0].content'],
    ['input', [{ type: 'function_call_output', call_id: 'c', output: 5 }], 'text', 'input[0].output'],
    ['input', [{ type: 'item_reference', id: 'rs_1' }], 'at least one message, call or result'],
    ['input', [{ type: 'item_reference', id: 'msg_1' }], 'send the item itself', 'input[0]'],
    ['tools', [{ type: 'function' }], 'text', 'tools[0].name'],
  ])('of %s %j names the allowed values', (field, value, ...[message, param = field]) => {
    expect(() => prepare({ [field]: value })).toThrow(refusal(param, message))
  })

  it('of an effort names the field that the caller used', () => {
    expect(() => prepare({ reasoning: { effort: 'medium' } })).toThrow(
      refusal('reasoning.effort', 'off, low, high, max, none'),
    )
    expect(() => prepare({ reasoning: { effort: 'low' }, reasoning_effort: 'high' })).toThrow(
      refusal('reasoning.effort', 'reasoning_effort'),
    )
  })

  it('of a format names the field that the caller used', () => {
    const bad = { type: 'json_schema', name: 'n', schema: { type: 'nothing' } }
    expect(() => prepare({ text: { format: bad } })).toThrow(refusal('text.format'))
    expect(() => prepare({ response_format: bad })).toThrow(refusal('response_format'))
    expect(() =>
      prepare({ text: { format: { type: 'json_object' } }, response_format: { type: 'text' } }),
    ).toThrow(refusal('text.format', 'response_format'))
  })

  it('of more items than the context window has tokens comes before the items are parsed', () => {
    const input = Array.from({ length: 8_193 }, () => ({ type: 'teapot' }))
    expect(() => prepare({ input })).toThrow(refusal('input', 'at most 8192'))
  })

  it('of tools on a model without tools names tools', () => {
    expect(() => prepare({ tools: [flat] }, { tools: false })).toThrow(refusal('tools'))
  })
})
