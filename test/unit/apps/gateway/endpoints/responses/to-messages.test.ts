import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { Input } from '#apps/gateway/endpoints/responses/input-items.ts'
import { toMessages } from '#apps/gateway/endpoints/responses/to-messages.ts'

const read = (input: unknown) => toMessages(Input.parse(input))

const user = (content: string) => ({ role: 'user', content })
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{"a":1}' })
const called = (id: string) => ({ id, name: 'f', arguments: '{"a":1}' })
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'r' })
const result = (toolCallId: string): ChatMessage => ({ role: 'tool', content: 'r', toolCallId })
const thought = (text: string) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text }],
})
const said = (content: string) => ({ role: 'assistant', content })
const reference = (id: string) => ({ type: 'item_reference', id })
const assistant = (fields: Partial<Extract<ChatMessage, { role: 'assistant' }>>): ChatMessage => ({
  role: 'assistant',
  content: '',
  reasoning: '',
  toolCalls: [],
  ...fields,
})

describe('messages', () => {
  it.each([
    ['text', 'Hi', user('Hi')],
    ['empty text', '', user('')],
    ['role and content only', [user('Hi')], user('Hi')],
    ['a typed item', [{ type: 'message', id: 'msg_1', status: 'completed', ...user('Hi') }], user('Hi')],
    ['a type of null', [{ type: null, ...user('Hi') }], user('Hi')],
    [
      'parts of Responses',
      [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_text', text: ' b' },
          ],
        },
      ],
      user('a b'),
    ],
    ['parts of chat', [{ role: 'user', content: [{ type: 'text', text: 'a' }] }], user('a')],
    ['null content', [{ role: 'user', content: null }], user('')],
    ['system', [{ role: 'system', content: 's' }], { role: 'system', content: 's' }],
    [
      'developer as system',
      [{ type: 'message', id: 'msg_x', role: 'developer', content: [{ type: 'input_text', text: 's' }] }],
      { role: 'system', content: 's' },
    ],
    [
      'an assistant message with all fields of an output item',
      [
        {
          type: 'message',
          role: 'assistant',
          phase: 'final_answer',
          content: [{ type: 'output_text', text: 'a', annotations: [], logprobs: [] }],
        },
      ],
      assistant({ content: 'a' }),
    ],
    [
      'a refusal of an assistant',
      [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }],
      assistant({ content: 'No.' }),
    ],
    [
      'a message of chat without calls',
      [{ role: 'assistant', content: 'a', tool_calls: [] }],
      assistant({ content: 'a' }),
    ],
    [
      'a result as parts',
      [{ ...output('c'), output: [{ type: 'input_text', text: 'r' }], id: 'fco_1', status: 'completed' }],
      result('c'),
    ],
    ['a result as null', [{ ...output('c'), output: null }], { ...result('c'), content: '' }],
  ])('are read from %s', (_name, input, expected) => {
    expect(read(input)).toEqual([expected])
  })
})

describe('a turn', () => {
  it.each([
    ['a call alone', [call('c0')], assistant({ toolCalls: [called('c0')] })],
    [
      'a call with id and status',
      [{ ...call('c0'), id: 'fc_1', status: 'completed' }],
      assistant({ toolCalls: [called('c0')] }),
    ],
    ['parallel calls', [call('c0'), call('c1')], assistant({ toolCalls: [called('c0'), called('c1')] })],
    [
      'text before its calls',
      [said('a'), call('c0'), call('c1')],
      assistant({ content: 'a', toolCalls: [called('c0'), called('c1')] }),
    ],
    [
      'text after its calls',
      [said('a'), call('c0'), said('b')],
      assistant({ content: 'ab', toolCalls: [called('c0')] }),
    ],
    [
      'reasoning before its call',
      [thought('hm'), call('c0')],
      assistant({ reasoning: 'hm', toolCalls: [called('c0')] }),
    ],
    [
      'reasoning before its text',
      [thought('hm'), said('a'), call('c0')],
      assistant({ reasoning: 'hm', content: 'a', toolCalls: [called('c0')] }),
    ],
    [
      'reasoning between its calls',
      [thought('hm'), call('c0'), thought('so'), call('c1')],
      assistant({ reasoning: 'hm\nso', toolCalls: [called('c0'), called('c1')] }),
    ],
    [
      'reasoning in several pieces',
      [thought('hm'), thought('so'), said('a')],
      assistant({ reasoning: 'hm\nso', content: 'a' }),
    ],
  ])('of %s is one message', (_name, items, expected) => {
    expect(read(items)).toEqual([expected])
  })

  it('ends with a result and with a message of another role', () => {
    expect(
      read([
        user('q'),
        call('c0'),
        call('c1'),
        output('c0'),
        output('c1'),
        call('c2'),
        output('c2'),
        said('a'),
        user('t'),
        said('b'),
      ]),
    ).toEqual([
      user('q'),
      assistant({ toolCalls: [called('c0'), called('c1')] }),
      result('c0'),
      result('c1'),
      assistant({ toolCalls: [called('c2')] }),
      result('c2'),
      assistant({ content: 'a' }),
      user('t'),
      assistant({ content: 'b' }),
    ])
  })

  it('is not joined with the next one where two messages are consecutive', () => {
    expect(read([said('a'), thought('hm'), said('b'), call('c0')])).toEqual([
      assistant({ content: 'a' }),
      assistant({ content: 'b', reasoning: 'hm', toolCalls: [called('c0')] }),
    ])
  })
})

describe('reasoning', () => {
  const replayed = (item: object) => read([{ type: 'reasoning', ...item }, said('a')])

  it.each([
    ['its content', { summary: [], content: [{ type: 'reasoning_text', text: 'all' }] }, 'all'],
    [
      'its content rather than the summary',
      { summary: [{ type: 'summary_text', text: 's' }], content: [{ type: 'reasoning_text', text: 'all' }] },
      'all',
    ],
    [
      'its summary',
      {
        summary: [
          { type: 'summary_text', text: 's' },
          { type: 'summary_text', text: 't' },
        ],
        content: null,
        encrypted_content: null,
      },
      's\nt',
    ],
    ['nothing, where it is encrypted', { id: 'rs_1', summary: [], encrypted_content: 'xyz' }, ''],
    ['nothing, where all is null', { summary: null, content: null }, ''],
  ])('is replayed from %s', (_name, item, reasoning) => {
    expect(replayed(item)).toEqual([assistant({ content: 'a', reasoning })])
  })

  it('without a following text or call is dropped', () => {
    expect(read([thought('hm'), user('q'), thought('so')])).toEqual([user('q')])
  })
})

describe('a reference', () => {
  it.each([
    ['to reasoning', [user('q'), reference('rs_1'), user('r')], [user('q'), user('r')]],
    [
      'to the text before a call',
      [user('q'), reference('msg_1'), call('c0')],
      [user('q'), assistant({ toolCalls: [called('c0')] })],
    ],
    [
      'to reasoning and to text before a call',
      [user('q'), reference('rs_1'), reference('msg_1'), reference('rs_2'), call('c0')],
      [user('q'), assistant({ toolCalls: [called('c0')] })],
    ],
  ])('%s is left out', (_name, items, expected) => {
    expect(read(items)).toEqual(expected)
  })

  it.each([
    ['to a message of an earlier turn', [user('q'), reference('msg_1'), user('r')], 1],
    ['to a message before a result', [reference('msg_1'), output('c0')], 0],
    ['to the last message', [user('q'), reference('msg_1')], 1],
    ['to an answer before the next one’s call', [reference('msg_1'), said('a'), call('c0')], 0],
    ['to a call', [user('q'), reference('fc_1'), output('c0')], 1],
    ['to anything else', [reference('x')], 0],
  ])('%s is refused, and the error names what to send', (_name, items, index) => {
    expect(() => read(items)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: `input[${index}]`,
        message: expect.stringMatching(/send the item itself/),
      }),
    )
  })

  it('is handled in linear time, however many there are', () => {
    const items = Array.from({ length: 200_000 }, () => ({ type: 'item_reference' as const, id: 'msg_1' }))
    const last = { type: 'function_call' as const, call_id: 'c0', name: 'f', arguments: '{}' }
    expect(toMessages([...items, last])).toHaveLength(1)
  })
})
