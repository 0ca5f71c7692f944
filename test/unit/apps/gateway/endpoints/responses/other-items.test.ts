import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { Input } from '#apps/gateway/endpoints/responses/input-items.ts'
import { toMessages } from '#apps/gateway/endpoints/responses/to-messages.ts'

const read = (input: unknown) => toMessages(Input.parse(input))

const user = (content: string) => ({ role: 'user', content })
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{"a":1}' })
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'r' })
const thought = (text: string) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text }],
})
const said = (content: string) => ({ role: 'assistant', content })
const assistant = (fields: Partial<Extract<ChatMessage, { role: 'assistant' }>>): ChatMessage => ({
  role: 'assistant',
  content: '',
  reasoning: '',
  toolCalls: [],
  ...fields,
})

describe('items of tools that the service does not run', () => {
  const turn = (name: string, args: object | string, id = 'c') =>
    assistant({
      toolCalls: [{ id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) }],
    })
  const answer = (content: string, toolCallId = 'c') => ({ role: 'tool', content, toolCallId })
  const exec = { type: 'exec', command: ['ls', '-a'], env: {} }
  const outputs = [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }]
  const patch = { type: 'update_file', path: 'a', diff: '+b' }
  const found = [{ filename: 'a.md', score: 0.5, text: 'b' }]

  it.each<[string, Record<string, unknown>, ChatMessage]>([
    ['free text', { type: 'custom_tool_call', name: 'f', input: 'a "b"' }, turn('f', { input: 'a "b"' })],
    [
      'a local shell',
      { type: 'local_shell_call', action: exec, status: 'completed' },
      turn('local_shell', exec),
    ],
    ['a shell', { type: 'shell_call', action: { commands: ['ls'] } }, turn('shell', { commands: ['ls'] })],
    ['a patch', { type: 'apply_patch_call', operation: patch }, turn('apply_patch', patch)],
  ])('a call of %s is a call with the same content', (_name, item, expected) => {
    expect(read([{ call_id: 'c', ...item }])).toEqual([expected])
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['free text', { type: 'custom_tool_call_output', call_id: 'c', output: 'r' }, 'r'],
    [
      'free text, as parts',
      { type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'r' }] },
      'r',
    ],
    [
      'a local shell, by the id of its call',
      { type: 'local_shell_call_output', id: 'c', output: '{"a":1}' },
      '{"a":1}',
    ],
    ['a local shell', { type: 'local_shell_call_output', id: 'x', call_id: 'c', output: 'r' }, 'r'],
    ['a shell', { type: 'shell_call_output', call_id: 'c', output: outputs }, JSON.stringify(outputs)],
    [
      'a patch',
      { type: 'apply_patch_call_output', call_id: 'c', status: 'failed', output: 'why' },
      'failed\nwhy',
    ],
    [
      'a patch without text',
      { type: 'apply_patch_call_output', call_id: 'c', status: 'completed' },
      'completed',
    ],
  ])('a result of %s is its result', (_name, item, content) => {
    expect(read([item])).toEqual([answer(content)])
  })

  it.each<[string, Record<string, unknown>, ...[ChatMessage, string]]>([
    [
      'an MCP server',
      { type: 'mcp_call', name: 'f', server_label: 's', arguments: '{"a":1}', output: 'r', error: null },
      turn('f', '{"a":1}'),
      'r',
    ],
    [
      'an MCP server that failed',
      { type: 'mcp_call', name: 'f', arguments: '{}', output: null, error: { message: 'no' } },
      turn('f', '{}'),
      '{"message":"no"}',
    ],
    [
      'a search of files',
      { type: 'file_search_call', queries: ['q'], results: found },
      turn('file_search', { queries: ['q'] }),
      JSON.stringify(found),
    ],
    [
      'an interpreter',
      { type: 'code_interpreter_call', code: '1+1', outputs: [{ type: 'logs', logs: '2' }] },
      turn('code_interpreter', { code: '1+1' }),
      '[{"type":"logs","logs":"2"}]',
    ],
    [
      'an interpreter without outputs',
      { type: 'code_interpreter_call', code: 'pass', outputs: null, container_id: 'x' },
      turn('code_interpreter', { code: 'pass' }),
      '',
    ],
  ])('a call of %s is a call and its result', (_name, item, ...[called, content]) => {
    expect(read([user('q'), { id: 'c', ...item }, said('a')])).toEqual([
      user('q'),
      called,
      answer(content),
      assistant({ content: 'a' }),
    ])
  })

  it('without an id a call is paired with its result by its place', () => {
    const item = { type: 'mcp_call', name: 'f', arguments: '{}', output: 'r' }
    expect(read([user('q'), item, item])).toEqual([
      user('q'),
      turn('f', '{}', 'call_1'),
      answer('r', 'call_1'),
      turn('f', '{}', 'call_2'),
      answer('r', 'call_2'),
    ])
  })

  it.each<[string, Record<string, unknown>]>([
    ['a search of the web', { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'q' } }],
    [
      'a search of files without results',
      { type: 'file_search_call', id: 'fs_1', queries: ['q'], results: null },
    ],
    ['an image', { type: 'image_generation_call', id: 'ig_1', result: 'aGk=' }],
    ['the tools of an MCP server', { type: 'mcp_list_tools', server_label: 's', tools: [] }],
    ['a question for permission', { type: 'mcp_approval_request', id: 'mcpr_1', name: 'f', arguments: '{}' }],
    ['a permission', { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }],
  ])('%s changes nothing', (_name, item) => {
    const around = [thought('hm'), item, said('a'), item, call('c0'), item, output('c0'), item]
    expect(read(around)).toEqual(read(around.filter((one) => one !== item)))
  })

  it('reasoning in the parts of a message is part of its turn', () => {
    const parts = [
      { type: 'thinking', thinking: 'so' },
      { type: 'output_text', text: 'a' },
    ]
    expect(read([thought('hm'), { role: 'assistant', content: parts }])).toEqual([
      assistant({ content: 'a', reasoning: 'hm\nso' }),
    ])
  })
})
