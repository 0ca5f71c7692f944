import { expect, it } from 'vitest'
import { toObject } from '#apps/gateway/endpoints/completions/to-object.ts'
import type { FinishedGeneration } from '#apps/gateway/generation/output/collect.ts'
import { createAnswer } from '#test/support/answer.ts'

const answer = createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: null } })
const finished: FinishedGeneration = {
  parts: [{ type: 'text', text: 'Hello' }],
  reasoning: '',
  text: 'Hello',
  toolCalls: [],
  finishReason: 'stop',
  usage: { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 0 },
}

it('is a text completion with every field of the interface and no field of chat', () => {
  const reasoned = { ...finished, reasoning: 'hm', toolCalls: [{ id: 'c', name: 'f', arguments: '{}' }] }
  expect(toObject(reasoned, answer)).toEqual({
    id: 'cmpl-0197-x',
    object: 'text_completion',
    created: 1_700_000_000,
    model: 'org/demo',
    choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
  })
})

it.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool-calls', 'stop'],
] as const)('says %s as %s', (finishReason, expected) => {
  expect(toObject({ ...finished, finishReason }, answer).choices[0]?.finish_reason).toBe(expected)
})

it('has every answer with its index, and one usage', () => {
  const whole = toObject({ ...finished, otherChoices: [{ ...finished, text: 'Bye' }] }, answer)
  expect(whole.choices).toEqual([
    { index: 0, text: 'Hello', finish_reason: 'stop' },
    { index: 1, text: 'Bye', finish_reason: 'stop' },
  ])
  expect(whole.usage).toEqual(toObject(finished, answer).usage)
})
