import { describe, expect, it } from 'vitest'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { toGeneration } from '#apps/gateway/endpoints/chat-completions/to-generation.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const messages = [{ role: 'user', content: 'Hi' }]
const request = (body: Record<string, unknown>) =>
  toGeneration(parseBody(ChatBody, { messages, ...body }), modelSpec({})).request

describe('the parts of a message', () => {
  it.each([
    ['image_url', 'user'],
    ['input_audio', 'user'],
    ['file', 'user'],
    ['teapot', 'tool'],
    ['image_url', 'assistant'],
    ['tool_use', 'assistant'],
  ])('says that parts of type %s are not supported, in a message of role %s', (type, role) => {
    const content = [{ type: 'text', text: 'a' }, { type }]
    expect(() => request({ messages: [...messages, { role, content }] })).toThrow(
      `'messages[1].content[1]': parts of type '${type}' are not supported by this model; ` +
        'expected {"type":"text","text":…}.',
    )
  })

  it.each([
    ['image_url', '[a picture that this model cannot read]'],
    ['file', '[a file that this model cannot read]'],
    ['input_audio', '[a recording that this model cannot read]'],
  ])('reads %s in the result of a tool as a sentence', (type, text) => {
    const content = [{ type: 'text', text: 'a: ' }, { type }]
    const read = request({ messages: [...messages, { role: 'tool', content }] }).messages[1]
    expect(read).toEqual({ role: 'tool', toolCallId: '', content: `a: ${text}` })
  })

  const reads = (fields: object) => request({ messages: [{ role: 'assistant', ...fields }] }).messages[0]

  it.each([
    ['nothing at all', {}, { content: '', toolCalls: [] }],
    ['reasoning alone', { reasoning_content: 'hm' }, { content: '', reasoning: 'hm' }],
    [
      'calls without ids',
      {
        tool_calls: [
          { id: null, function: { name: 'f' } },
          { type: 'custom', custom: { name: 'g', input: '' } },
        ],
      },
      {
        toolCalls: [
          { id: '', name: 'f' },
          { id: '', name: 'g' },
        ],
      },
    ],
    ['a refusal as a part', { content: [{ type: 'refusal', refusal: 'No.' }] }, { content: 'No.' }],
    ['a refusal beside null', { content: null, refusal: 'No.' }, { content: 'No.' }],
    ['a refusal beside no content', { refusal: 'No.' }, { content: 'No.' }],
    ['a refusal behind a text', { content: 'So: ', refusal: 'No.' }, { content: 'So: No.' }],
    ['a refusal of null', { content: 'a', refusal: null }, { content: 'a' }],
    [
      'thinking as text',
      {
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'text', text: 'a' },
        ],
      },
      { content: 'a', reasoning: 'hm' },
    ],
    [
      'thinking as parts',
      {
        content: [
          {
            type: 'thinking',
            thinking: [
              { type: 'text', text: 'h' },
              { type: 'text', text: 'm' },
            ],
          },
          { type: 'text', text: 'a' },
        ],
      },
      { content: 'a', reasoning: 'hm' },
    ],
    [
      'reasoning in parts of several clients',
      {
        content: [
          { type: 'reasoning', reasoning: 'one' },
          { type: 'reasoning', text: 'two' },
          { type: 'reasoning', summary: [{ type: 'summary_text', text: 'three' }] },
        ],
      },
      { content: '', reasoning: 'one\ntwo\nthree' },
    ],
    [
      'encrypted reasoning as none',
      {
        content: [
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: 'a' },
        ],
      },
      { content: 'a' },
    ],
    ['reasoning by its newer name', { content: 'a', reasoning: 'hm' }, { content: 'a', reasoning: 'hm' }],
    [
      'one reasoning under each name',
      {
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'a' },
        ],
        reasoning: 'hm',
        reasoning_content: 'hm',
      },
      { content: 'a', reasoning: 'hm' },
    ],
    ['an empty name as none', { content: 'a', reasoning: 'hm', reasoning_content: '' }, { reasoning: 'hm' }],
    ['a null name as none', { content: 'a', reasoning: null, reasoning_content: 'hm' }, { reasoning: 'hm' }],
    [
      'a call of free text',
      { content: null, tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: '"x"' } }] },
      { toolCalls: [{ id: 'c', name: 'f', arguments: '{"input":"\\"x\\""}' }] },
    ],
  ])('reads of an assistant %s', (_name, fields, expected) => {
    expect(reads(fields)).toMatchObject({ reasoning: '', ...expected })
  })

  it('refuses two different reasonings of one message', () => {
    const param = 'messages[0].reasoning_content'
    expect(() => reads({ content: 'a', reasoning_content: 'a', reasoning: 'b' })).toThrow(
      expect.objectContaining({ param, message: expect.stringContaining('messages[0].reasoning') }),
    )
  })

  it.each([
    ['messages[0].content[0]', { messages: [{ role: 'user', content: ['x'] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{}] }] }],
    ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }],
    [
      'messages[0].content[1]',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'thinking', thinking: 'b' },
            ],
          },
        ],
      },
    ],
    ['messages[0].audio', { messages: [{ role: 'assistant', content: '', audio: { id: 'audio_1' } }] }],
    [
      'messages[0].function_call',
      { messages: [{ role: 'assistant', content: null, function_call: { name: 'f', arguments: '' } }] },
    ],
    [
      'messages[0].tool_calls[0].custom.input',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f' } }] }] },
    ],
  ])('names %s when it is wrong', (param, body) => {
    expect(() => request(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })
})

describe('a choice of allowed tools', () => {
  const named = (name: string) => ({ type: 'function', name })

  it.each([
    [
      'nested',
      { allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] } },
    ],
    ['flat', { mode: 'required', tools: [{ type: 'mcp', server_label: 's' }, named('g')] }],
  ])('offers only the allowed tools, as a %s choice', (_name, choice) => {
    const tools = ['f', 'g', 'h'].map(named)
    const body = { tools: [...tools, { type: 'mcp' }], tool_choice: { type: 'allowed_tools', ...choice } }
    const { tools: offered, toolChoice } = request(body)
    expect(offered.map(({ name }) => name)).toEqual(['g'])
    expect(toolChoice).toBe('required')
  })

  it('offers no tool of an empty list, and keeps the order of the offer', () => {
    const tools = ['f', 'g', 'h'].map(named)
    const allow = (...names: string[]) =>
      request({ tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: names.map(named) } })
    expect(allow()).toMatchObject({ tools: [], toolChoice: 'auto' })
    expect(allow('h', 'f').tools.map(({ name }) => name)).toEqual(['f', 'h'])
  })

  const allowed = (fields: object) => ({
    tools: [named('f')],
    tool_choice: { type: 'allowed_tools', ...fields },
  })

  it.each([
    ['tool_choice', allowed({ mode: 'required', tools: [] })],
    ['tool_choice', allowed({ mode: 'auto', tools: [named('g')] })],
    ['tool_choice.mode', allowed({ mode: 'any', tools: [] })],
    ['tool_choice.tools', allowed({ mode: 'auto' })],
    ['tool_choice.allowed_tools.tools[0].type', allowed({ allowed_tools: { mode: 'auto', tools: [{}] } })],
    ['tool_choice.tools[0].name', allowed({ mode: 'auto', tools: [{ type: 'function' }] })],
  ])('names %s when it is wrong', (param, body) => {
    expect(() => request(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })
})
