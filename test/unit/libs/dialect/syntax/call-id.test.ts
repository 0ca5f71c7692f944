import { describe, expect, it } from 'vitest'
import { toCallId, withOwnCallIds } from '#libs/dialect/syntax/call-id.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'

const call = { generationId: 'g', name: 'f', index: 1, earlierCalls: 2 }

it.for([
  ['opaque', /^call_[0-9a-f]{24}$/],
  ['nine-characters', /^[A-Za-z0-9]{9}$/],
  ['name-and-number', /^functions\.f:3$/],
] as const)('%s: an id that the template takes back, the same in every run', ([kind, shape]) => {
  expect(toCallId(kind, call)).toMatch(shape)
  expect(toCallId(kind, call)).toBe(toCallId(kind, { ...call }))
  expect(toCallId(kind, call)).not.toBe(toCallId(kind, { ...call, index: 0 }))
})

describe('a replayed conversation', () => {
  const user: ChatMessage = { role: 'user', content: 'Hi' }
  const calls = (...ids: string[]): ChatMessage => ({
    role: 'assistant',
    content: '',
    reasoning: '',
    toolCalls: ids.map((id) => ({ id, name: 'f', arguments: '{}' })),
  })
  const result = (toolCallId: string): ChatMessage => ({ role: 'tool', toolCallId, content: 'x' })
  const idsOf = (messages: readonly ChatMessage[]) =>
    messages.flatMap((message) => {
      if (message.role === 'tool') return [message.toolCallId]
      return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : []
    })

  it('of a family that accepts any id is unchanged', () => {
    const messages = [user, calls('call_1', 'x'), result('call_1'), result('x')]
    expect(withOwnCallIds('opaque', messages)).toEqual(messages)
  })

  it.for([
    ['nine-characters', /^[A-Za-z0-9]{9}$/],
    ['name-and-number', /^functions\.f:\d$/],
  ] as const)('%s: foreign ids are replaced alike in calls and results', ([kind, shape]) => {
    const messages = [user, calls('call_1', 'toolu_02'), result('toolu_02'), result('call_1')]
    const [first = '', second = '', ...results] = idsOf(withOwnCallIds(kind, messages))
    expect(first).toMatch(shape)
    expect(second).toMatch(shape)
    expect(second).not.toBe(first)
    expect(results).toEqual([second, first])
  })

  it.for([
    ['nine-characters', 'abcDEF123', 'abcDEF124'],
    ['name-and-number', 'functions.f:0', 'functions.g:1'],
  ] as const)('%s: its own ids stay', ([kind, first, second]) => {
    const messages = [calls(first, second), result(first), result(second)]
    expect(withOwnCallIds(kind, messages)).toEqual(messages)
  })

  it('is numbered across turns, also where a caller uses an id twice', () => {
    const messages = [calls('a'), result('a'), calls('b', 'a'), result('a'), result('b')]
    expect(idsOf(withOwnCallIds('name-and-number', messages))).toEqual(
      ['0', '0', '1', '2', '2', '1'].map((number) => `functions.f:${number}`),
    )
  })

  it('may have a result without a call', () => {
    expect(idsOf(withOwnCallIds('nine-characters', [result('call_1')]))).toEqual([
      expect.stringMatching(/^\w{9}$/),
    ])
    expect(idsOf(withOwnCallIds('name-and-number', [result('call_1')]))).toEqual(['call_1'])
  })
})
