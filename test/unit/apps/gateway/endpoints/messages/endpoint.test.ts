import { describe, expect, it } from 'vitest'
import { prepare, refusal } from './prepared.ts'

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const tool = { name: 'f', description: 'Does it.', input_schema: { type: 'object' } }

describe('a request', () => {
  it('becomes a chat with all of its settings', () => {
    const { request, maxOutputTokens, stream } = prepare({
      max_tokens: 100,
      stream: true,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      context_management: { edits: [] },
      cache_control: { type: 'ephemeral' },
    })
    expect(request).toMatchObject({
      kind: 'chat',
      sampling: { temperature: 0.5, topP: 0.9, topK: 5 },
      stop: ['END'],
      reasoningEffort: 'low',
      tools: [],
      toolChoice: 'auto',
      parallelToolCalls: true,
      outputFormat: { type: 'text' },
    })
    expect({ maxOutputTokens, stream }).toEqual({ maxOutputTokens: 100, stream: true })
  })

  it.each([
    [{ type: 'auto' }, 'auto', true],
    [{ type: 'any' }, 'required', true],
    [{ type: 'none' }, 'none', true],
    [{ type: 'tool', name: 'f' }, { name: 'f' }, true],
    [{ type: 'auto', disable_parallel_tool_use: true }, 'auto', false],
  ])('with the tool choice %j offers its tools', (tool_choice, toolChoice, parallelToolCalls) => {
    const { request } = prepare({ tools: [tool], tool_choice })
    expect(request).toMatchObject({
      tools: [{ name: 'f', description: 'Does it.', parameters: { type: 'object' } }],
      toolChoice,
      parallelToolCalls,
    })
  })

  it('drops tools that the service cannot run, and refuses to force one', () => {
    const tools = [
      { type: 'web_search_20250305', name: 'web_search' },
      { ...tool, type: 'custom' },
    ]
    expect(prepare({ tools }).request.tools.map(({ name }) => name)).toEqual(['f'])
    expect(() => prepare({ tools, tool_choice: { type: 'tool', name: 'web_search' } })).toThrow(
      refusal('tool_choice', 'web_search'),
    )
    expect(() => prepare({ tools: tools.slice(0, 1), tool_choice: { type: 'any' } })).toThrow(
      refusal('tool_choice', 'no function is offered'),
    )
  })

  it('has the format of its output', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const { request } = prepare({ output_config: { format: { type: 'json_schema', schema } } })
    expect(request.outputFormat).toEqual({ type: 'json-schema', schema })
  })
})

describe('a refusal', () => {
  it('comes in the order of the interface: required fields, the model, then values', () => {
    const bad = { temperature: 'hot', n: 2 }
    expect(() => prepare({ ...bad, model: 'nope', max_tokens: null })).toThrow(
      refusal('max_tokens', 'required'),
    )
    expect(() => prepare({ ...bad, model: 'nope', messages: undefined })).toThrow(refusal('messages'))
    expect(() => prepare({ ...bad, model: 'nope' })).toThrow(
      expect.objectContaining({ code: 'model_not_found', message: `Unknown model 'nope'` }),
    )
    expect(() => prepare(bad)).toThrow(refusal('n'))
  })

  it.each<[body: Record<string, unknown>, param: string, message: string]>([
    [{ max_tokens: 0 }, 'max_tokens', 'at least 1'],
    [{ stop: ['a'], stop_sequences: ['b'] }, 'stop', 'differ'],
    [{ mcp_servers: [{}] }, 'mcp_servers', 'offer their tools'],
    [{ container: 'c' }, 'container', 'runs no code'],
    [{ stop_sequences: [''] }, 'stop_sequences[0]', 'not empty'],
    [{ stop_sequences: Array.from({ length: 17 }, () => 'a') }, 'stop_sequences', 'at most 16'],
    [{ messages: [] }, 'messages', 'at least one message'],
    [{ messages: ['Hi'] }, 'messages[0]', 'expected a message'],
    [{ messages: [{ role: 'tool', content: '' }] }, 'messages[0].role', 'user, assistant, system'],
    [{ messages: [{ role: 'assistant', content: 'A' }] }, 'messages[0]', 'end the conversation'],
    [user(5), 'messages[0].content', 'array of blocks'],
    [user(null), 'messages[0].content', 'array of blocks'],
    [user(['Hi']), 'messages[0].content[0]', 'expected a block'],
    [user([{ type: 5 }]), 'messages[0].content[0].type', 'expected text or tool_result'],
    [user([{ type: 'text', text: 5 }]), 'messages[0].content[0].text', 'expected text'],
    [
      user([{ type: 'image', source: {} }]),
      'messages[0].content[0].type',
      `'image' are not supported here; send a description`,
    ],
    [user([{ type: 'document', source: {} }]), 'messages[0].content[0].type', 'the text of the document'],
    [
      user([{ type: 'container_upload', file_id: 'f' }]),
      'messages[0].content[0].type',
      'the text of the file',
    ],
    [user([{ type: 'constructor' }]), 'messages[0].content[0].type', `'constructor'`],
    [user([{ type: 'tool_use', id: 'a', name: 'f', input: {} }]), 'messages[0].content[0].type', 'tool_use'],
    [
      user([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'teapot' }] }]),
      'messages[0].content[0].content[0].type',
      'teapot',
    ],
    [user([{ type: 'tool_result' }]), 'messages[0].content[0].tool_use_id', 'expected text'],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: '{}' }] }] },
      'messages[0].content[0].input',
      'an object',
    ],
    [{ system: [{ type: 'image' }] }, 'system[0].type', 'image'],
    [{ system: 5 }, 'system', 'array of blocks'],
    [{ thinking: { type: 'deep' } }, 'thinking.type', 'enabled, adaptive'],
    [{ thinking: { type: 'enabled', budget_tokens: 0 } }, 'thinking.budget_tokens', 'at least 1'],
    [{ output_config: { effort: 'off' } }, 'output_config.effort', 'low, medium'],
    [{ tools: ['f'] }, 'tools[0]', 'expected a tool'],
    [{ tools: [{ input_schema: {} }] }, 'tools[0].name', 'expected'],
    [{ tools: [{ name: 'f', input_schema: 5 }] }, 'tools[0].input_schema', 'a JSON schema'],
    [
      { tools: [{ name: 'f', strict: true, input_schema: { type: 'teapot' } }] },
      'tools[0].input_schema',
      'wrong schema at #/type',
    ],
    [{ tool_choice: 'auto' }, 'tool_choice', 'auto, any, tool or none'],
    [{ tool_choice: { type: 'some' } }, 'tool_choice.type', 'auto, any, tool or none'],
  ])('of %j names the field and says what is allowed', (body, param, message) => {
    expect(() => prepare(body)).toThrow(refusal(param, message))
  })

  it('of too many messages comes before they are read', () => {
    const messages = Array.from({ length: 8_193 }, () => 'no message')
    expect(() => prepare({ messages })).toThrow(refusal('messages', 'at most 8192'))
  })

  it('of tools comes from a model without tools', () => {
    expect(() => prepare({ tools: [tool] }, { tools: false })).toThrow(refusal('tools', 'has no tools'))
  })
})
