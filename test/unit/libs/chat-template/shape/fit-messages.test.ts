import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { fitMessages, UnprintableError } from '#libs/chat-template/shape/fit-messages.ts'
import { PLAIN_SHAPE, type TemplateShape } from '#libs/chat-template/shape/template-shape.ts'

const system = (content: string): ChatMessage => ({ role: 'system', content })
const user = (content: string): ChatMessage => ({ role: 'user', content })
const said = (content: string, ids: readonly string[] = [], reasoning = ''): ChatMessage => ({
  role: 'assistant',
  content,
  reasoning,
  toolCalls: ids.map((id) => ({ id, name: `f-${id}`, arguments: '{}' })),
})
const result = (toolCallId: string, content = `r-${toolCallId}`): ChatMessage => ({
  role: 'tool',
  toolCallId,
  content,
})

/** A short form of messages: role, text and the ids of calls. */
const brief = (messages: readonly ChatMessage[]): string[] =>
  messages.map((message) => {
    const calls = message.role === 'assistant' ? message.toolCalls.map(({ id }) => `+${id}`).join('') : ''
    return `${message.role[0]}:${message.content}${calls}`
  })

const fit = (shape: Partial<TemplateShape>, ...messages: ChatMessage[]): string[] =>
  brief(fitMessages(messages, { ...PLAIN_SHAPE, ...shape }))

it('a plain template gets every message as it is, each result with the name of its call', () => {
  const messages = [
    system('s'),
    system('t'),
    user('a'),
    said('b', ['1', '2']),
    result('1'),
    result('2'),
    user('c'),
  ]
  const fitted = fitMessages(messages, PLAIN_SHAPE)
  expect(brief(fitted)).toEqual(brief(messages))
  expect(fitted.flatMap(({ callName }) => callName ?? [])).toEqual(['f-1', 'f-2'])
})

describe('system messages', () => {
  it('are joined to one, in order', () => {
    expect(fit({ leadingSystems: 'joined' }, system('s'), system('t'), user('a'))).toEqual([
      's:s\n\nt',
      'u:a',
    ])
  })

  it('go in front of the first user text, also where an assistant begins', () => {
    const folded: Partial<TemplateShape> = { leadingSystems: 'folded', laterSystem: 'folded' }
    expect(fit(folded, system('s'), user('a'), said('b'), system('t'), user('c'))).toEqual([
      'u:s\n\na',
      'a:b',
      'u:t\n\nc',
    ])
    expect(fit(folded, system('s'), said('b'), user('a'))).toEqual(['u:s', 'a:b', 'u:a'])
  })

  it('behind the last message become a user message, and between a call and its result go behind that', () => {
    const folded: Partial<TemplateShape> = { laterSystem: 'folded' }
    expect(fit(folded, user('a'), said('b'), system('t'))).toEqual(['u:a', 'a:b', 'u:t'])
    expect(fit(folded, user('a'), said('', ['1']), system('t'), result('1'), said('c'))).toEqual([
      'u:a',
      'a:+1',
      't:r-1',
      'u:t',
      'a:c',
    ])
  })
})

describe('calls', () => {
  it('become one message each, with their results by id and then by place', () => {
    const shape: Partial<TemplateShape> = { severalCalls: 'split' }
    expect(fit(shape, user('a'), said('b', ['1', '2', '3']), result('2'), result('x'), user('c'))).toEqual([
      'u:a',
      'a:b+1',
      't:r-x',
      'a:+2',
      't:r-2',
      'a:+3',
      'u:c',
    ])
  })

  it('lose no result that has no call', () => {
    expect(fit({ orphanResult: 'folded' }, user('a'), said('', ['1']), result('1'), result('x'))).toEqual([
      'u:a',
      'a:+1',
      't:r-1',
      'u:r-x',
    ])
  })

  it('have two results of the same id and text, each of them once', () => {
    expect(fit({}, user('a'), said('', ['1', '1']), result('1', 'same'), result('1', 'same'))).toEqual([
      'u:a',
      'a:+1+1_1',
      't:same',
      't:same',
    ])
  })

  it('have their text before them, and an empty result where they have none', () => {
    const shape: Partial<TemplateShape> = {
      textBesideCall: 'bridged',
      unanswered: 'answered',
      userBehindResult: 'bridged',
    }
    expect(fit(shape, user('a'), said('b', ['1']), user('c'))).toEqual([
      'u:a',
      'a:b',
      'u:',
      'a:+1',
      't:',
      'a:',
      'u:c',
    ])
  })

  it('and the text of the message before them are one turn where no two assistant messages follow each other', () => {
    expect(fit({ assistantsInARow: 'joined' }, user('a'), said('b'), said('', ['1']), result('1'))).toEqual([
      'u:a',
      'a:b+1',
      't:r-1',
    ])
  })

  it('have their text behind their reasoning where the template takes one of them', () => {
    const [, message] = fitMessages([user('a'), said('b', ['1'], 'r')], {
      ...PLAIN_SHAPE,
      reasoningBesideText: 'joined',
    })
    expect(message).toMatchObject({ content: '', reasoning: 'r\n\nb' })
  })
})

it.each<[Partial<TemplateShape>, string, ChatMessage[]]>([
  [{ leadingSystems: null }, 'a system message', [system('s'), user('a')]],
  [{ laterSystem: null }, 'a system message behind other messages', [user('a'), system('s')]],
  [{ noUser: null }, 'a conversation without a user message', [system('s')]],
  [{ usersInARow: null }, 'user messages in a row', [user('a'), user('b')]],
  [{ assistantsInARow: null }, 'assistant messages in a row', [user('a'), said('b'), said('c')]],
  [{ assistantFirst: null }, 'an assistant message before any user message', [said('b'), user('a')]],
  [{ calls: null }, 'tool calls', [user('a'), said('', ['1'])]],
  [{ severalCalls: null }, 'several calls in a message', [user('a'), said('', ['1', '2'])]],
  [{ textBesideCall: null }, 'text beside a tool call', [user('a'), said('b', ['1'])]],
  [{ unanswered: null }, 'a tool call without its result', [user('a'), said('', ['1']), user('b')]],
  [{ orphanResult: null }, 'a tool result without its call', [user('a'), result('1')]],
  [
    { userBehindResult: null },
    'a user message behind a tool result',
    [user('a'), said('', ['1']), result('1'), user('b')],
  ],
])('a template with %o refuses %s by name', (shape, what, messages) => {
  const fitted = () => fit(shape, ...messages)
  expect(fitted).toThrow(UnprintableError)
  expect(fitted).toThrow(`the model's chat template cannot print ${what}`)
})
