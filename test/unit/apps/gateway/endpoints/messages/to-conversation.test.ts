import { describe, expect, it } from 'vitest'
import { prepare } from './prepared.ts'

const conversation = (messages: unknown, system?: unknown) => prepare({ messages, system }).request.messages

const text = (value: string) => ({ type: 'text', text: value })
const use = (id: string, input: object = {}) => ({ type: 'tool_use', id, name: 'f', input })
const result = (id: string, content?: unknown) => ({ type: 'tool_result', tool_use_id: id, content })
const assistant = (changes: object = {}) => ({
  role: 'assistant',
  content: '',
  reasoning: '',
  toolCalls: [],
  ...changes,
})
const question = { role: 'user', content: 'Q' }
const now = { role: 'system', content: 'Now.' }
const answer = assistant({ content: 'A' })
const call = (id: string, args = '{}') => ({ id, name: 'f', arguments: args })

describe('the system prompt', () => {
  it('is text or blocks, and may come in the middle', () => {
    expect(conversation([question], 'Be brief.')[0]).toEqual({ role: 'system', content: 'Be brief.' })
    const cached = { ...text('Be kind.'), cache_control: { type: 'ephemeral' } }
    expect(conversation([question], [text('Be brief.'), cached])[0]).toEqual({
      role: 'system',
      content: 'Be brief.\nBe kind.',
    })
    expect(conversation([question], '')).toEqual([question])
  })

  it.each([
    ['in front of the text before it', [question, now], [now, question]],
    [
      'in front of the text beside results',
      [{ role: 'user', content: [result('a', 'one'), text('Q')] }, now],
      [{ role: 'tool', content: 'one', toolCallId: 'a' }, now, question],
    ],
    [
      'into the last of the results before it',
      [{ role: 'user', content: [result('a', 'one'), result('b', 'two')] }, now],
      [
        { role: 'tool', content: 'one', toolCallId: 'a' },
        { role: 'tool', content: 'two\n\nNow.', toolCallId: 'b' },
      ],
    ],
    ['nowhere behind an answer', [question, answer, now, question], [question, answer, now, question]],
    ['nowhere at the beginning', [now, question], [now, question]],
  ])('goes from the middle %s', (_, messages, expected) => {
    const blocks = messages.map((message) =>
      message === answer ? { role: 'assistant', content: 'A' } : message,
    )
    expect(conversation(blocks)).toEqual(expected)
    const later = conversation([...blocks, { role: 'assistant', content: 'A' }, question])
    expect(later.slice(0, expected.length)).toEqual(expected)
  })

  it.each([
    [[text('x-anthropic-billing-header: cc_version=2; cch=1a2b3;'), text('You are a coder.')]],
    [[text('x-anthropic-billing-header: cch=99999;\nYou are a coder.')]],
    ['x-anthropic-billing-header: cch=00000;\nYou are a coder.'],
  ])('is without the billing header of Claude Code, which changes with every request: %j', (system) => {
    expect(conversation([question], system)).toEqual([
      { role: 'system', content: 'You are a coder.' },
      question,
    ])
  })
})

describe('a turn of the assistant', () => {
  it('has its text, its reasoning and its calls, also from two messages', () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 's' }
    const expected = assistant({
      content: 'Ab',
      reasoning: 'Hm.',
      toolCalls: [call('a', '{"x":1}'), call('b')],
    })
    const whole = [thinking, text('A'), text('b'), use('a', { x: 1 }), use('b')]
    const after = { role: 'user', content: [result('a', 'one'), result('b', 'two')] }
    const tools = [
      { role: 'tool', content: 'one', toolCallId: 'a' },
      { role: 'tool', content: 'two', toolCallId: 'b' },
    ]
    expect(conversation([question, { role: 'assistant', content: whole }, after])).toEqual([
      question,
      expected,
      ...tools,
    ])
    const split = whole.map((block) => ({ role: 'assistant', content: [block] }))
    expect(conversation([question, ...split, after])).toEqual([question, expected, ...tools])
  })

  it('is without encrypted reasoning and without calls of tools that another service ran', () => {
    const content = [
      { type: 'redacted_thinking', data: 'x' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      text('Found.'),
    ]
    expect(conversation([question, { role: 'assistant', content }, question])).toEqual([
      question,
      assistant({ content: 'Found.' }),
      question,
    ])
    expect(conversation([question, { role: 'assistant', content: content.slice(0, 2) }, question])).toEqual([
      question,
      question,
    ])
  })
})

describe('the results of a turn', () => {
  const tools = [
    { role: 'tool', content: 'one', toolCallId: 'a' },
    { role: 'tool', content: 'two', toolCallId: 'b' },
  ]
  const asked = { role: 'assistant', content: [use('a'), use('b')] }

  it.each([
    [
      'before the text',
      [{ role: 'user', content: [result('a', 'one'), result('b', [text('two')]), text('Go on.')] }],
    ],
    ['after the text', [{ role: 'user', content: [text('Go on.'), result('a', 'one'), result('b', 'two')] }]],
    [
      'around the text',
      [{ role: 'user', content: [result('a', 'one'), text('Go on.'), result('b', 'two')] }],
    ],
    [
      'in messages of their own',
      [
        { role: 'user', content: [result('a', 'one')] },
        { role: 'user', content: 'Go on.' },
        { role: 'user', content: [result('b', 'two')] },
      ],
    ],
  ])('%s come directly after the calls', (_, answers) => {
    expect(conversation([question, asked, ...answers]).slice(2)).toEqual([
      ...tools,
      { role: 'user', content: 'Go on.' },
    ])
  })

  it.each([
    [{ type: 'image', source: { type: 'base64', data: 'x' } }, '[a picture that this model cannot read]'],
    [{ type: 'document', source: { type: 'base64', data: 'x' } }, '[a document that this model cannot read]'],
    [{ type: 'document', source: { type: 'text', data: 'Plain.' } }, 'Plain.'],
    [{ type: 'search_result', title: 'T', source: 's', content: [text('Found.')] }, 'T\ns\nFound.'],
    [{ type: 'tool_reference', tool_name: 'f' }, 'f is available'],
  ])('have the block %j as text', (block, expected) => {
    const answers = [{ role: 'user', content: [result('a', [text('one'), block]), result('b', 'two')] }]
    expect(conversation([question, asked, ...answers])[2]).toEqual({
      ...tools[0],
      content: `one\n${expected}`,
    })
  })

  it('may be empty', () => {
    expect(
      conversation([question, asked, { role: 'user', content: [result('a'), result('b', [])] }]).slice(2),
    ).toEqual(tools.map((tool) => ({ ...tool, content: '' })))
  })
})
