import { expect, test } from 'vitest'
import {
  NO_CONVERSATION,
  readSession,
  toConversation,
  toSession,
} from '#apps/gateway/generation/request/conversation.ts'
import type { ChatMessage, ChatRequest, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { generationJob } from '../../../../../support/generation-job.ts'

const system = { role: 'system', content: 'Be brief.' } as const
const user = (content: string) => ({ role: 'user', content }) as const
const answer = (content: string): ChatMessage => ({
  role: 'assistant',
  content,
  reasoning: '',
  toolCalls: [],
})
const result = { role: 'tool', content: '4', toolCallId: 'call-1' } as const

function of(messages: ChatMessage[], fields: Partial<ChatRequest> = {}) {
  return toConversation({ ...generationJob().request, messages, ...fields })
}

const FIRST = [system, user('one')]
const SECOND = [...FIRST, answer('two'), user('three')]

test('a turn begins as the turn before it, which ended behind an earlier message of the user', () => {
  const [first, second] = [of(FIRST), of(SECOND)]
  expect(first).toMatchObject({ beginnings: [expect.any(String)], hasAnswer: false })
  expect(second.hasAnswer).toBe(true)
  expect(second.beginnings).toHaveLength(2)
  expect(second.beginnings[1]).toBe(first.beginnings[0])
})

test('a turn with a result of a tool has the beginning of the turn that called the tool', () => {
  expect(of([...SECOND, answer('call'), result]).beginnings).toEqual(of(SECOND).beginnings)
})

test('a common system prompt is no beginning, and another one is another beginning', () => {
  expect(of([system]).beginnings).toEqual([])
  expect(of(FIRST).beginnings).not.toEqual(of([user('one')]).beginnings)
  expect(of(FIRST).beginnings).not.toEqual(of([system, user('other')]).beginnings)
})

test('tools are a part of the beginning, and sampling is not', () => {
  const tool: ToolDefinition = { name: 'add', description: null, parameters: null }
  expect(of(FIRST, { tools: [tool] }).beginnings).not.toEqual(of(FIRST).beginnings)
  expect(of(FIRST, { sampling: { temperature: 1 } })).toEqual(of(FIRST))
})

test('the 16 longest beginnings are found', () => {
  const messages = Array.from({ length: 20 }, (_, turn) => user(`turn ${turn}`))
  const { beginnings } = of(messages)
  expect(beginnings).toHaveLength(16)
  expect(beginnings.at(-1)).toBe(of(messages.slice(0, 5)).beginnings[0])
})

test('texts to embed are no conversation', () => {
  expect(toConversation({ kind: 'embedding', inputs: ['a'] })).toEqual(NO_CONVERSATION)
})

test('a header names the conversation, else prompt_cache_key does, and a name of 513 characters does not', () => {
  expect(readSession({}, 'key')).toBe('key')
  expect(readSession({ 'x-session-id': 'id' }, 'key')).toBe('id')
  expect(readSession({ 'x-session-id': 'id', 'x-session-affinity': 'warm' }, 'key')).toBe('warm')
  expect(readSession({ 'x-session-id': 'x'.repeat(513) }, 'key')).toBe('key')
  expect([toSession('key'), toSession('x'.repeat(513)), toSession(7), toSession('')]).toEqual([
    'key',
    null,
    null,
    null,
  ])
})
