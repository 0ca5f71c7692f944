import { expect, it } from 'vitest'
import { toObject } from '#apps/gateway/endpoints/chat-completions/to-object.ts'
import type { FinishedGeneration } from '#apps/gateway/generation/output/collect.ts'
import { createAnswer } from '#test/support/answer.ts'

const answer = createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: false } })
const finished: FinishedGeneration = {
  parts: [{ type: 'text', text: 'Hello' }],
  reasoning: '',
  text: 'Hello',
  toolCalls: [],
  finishReason: 'stop',
  usage: { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 },
}
const call = { id: 'c0', name: 'f', arguments: '{"a":1}' }
const toolCalls = [{ id: 'c0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }]
const messageOf = (changes: Partial<FinishedGeneration>) =>
  toObject({ ...finished, ...changes }, answer).choices[0]

it('is a chat completion with every field of the interface', () => {
  expect(toObject(finished, answer)).toEqual({
    id: 'chatcmpl-0197-x',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'org/demo',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 5,
      completion_tokens: 4,
      total_tokens: 9,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 1 },
    },
  })
})

it.each([
  [
    'content null when there are only tool calls',
    { text: '', toolCalls: [call] },
    { content: null, tool_calls: toolCalls },
  ],
  ['content beside tool calls', { text: 'x', toolCalls: [call] }, { content: 'x', tool_calls: toolCalls }],
  ['content empty when there is nothing', { text: '' }, { content: '' }],
  ['reasoning apart from content', { reasoning: 'hm' }, { content: 'Hello', reasoning_content: 'hm' }],
])('has %s', (_name, changes, message) => {
  expect(messageOf(changes)?.message).toEqual({ role: 'assistant', ...message })
})

it.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool-calls', 'tool_calls'],
] as const)('says %s as %s', (finishReason, expected) => {
  expect(messageOf({ finishReason })?.finish_reason).toBe(expected)
})

it('has every answer with its index, and one usage', () => {
  const second = { ...finished, text: '', toolCalls: [call], finishReason: 'tool-calls' } as const
  const whole = toObject(
    { ...finished, otherChoices: [second, { ...finished, finishReason: 'length' }] },
    answer,
  )
  expect(whole.choices).toEqual([
    { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' },
    {
      index: 1,
      message: { role: 'assistant', content: null, tool_calls: toolCalls },
      finish_reason: 'tool_calls',
    },
    { index: 2, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'length' },
  ])
  expect(whole.usage).toEqual(toObject(finished, answer).usage)
})
