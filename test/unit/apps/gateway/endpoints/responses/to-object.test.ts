import { expect, it } from 'vitest'
import { ResponseObject } from '#apps/gateway/endpoints/responses/response-object.ts'
import { toObject } from '#apps/gateway/endpoints/responses/to-object.ts'
import type { FinishedGeneration, OutputPart } from '#apps/gateway/generation/output/collect.ts'
import { createResponsesAnswer } from './responses-answer.ts'

const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
const REASONING = { type: 'reasoning', text: 'hm' } as const
const TEXT = { type: 'text', text: 'Hello' } as const
const CALL = { type: 'tool-call', call: { id: 'call_0', name: 'f', arguments: '{"a":1}' } } as const

function finished(
  parts: OutputPart[],
  finishReason: FinishedGeneration['finishReason'] = 'stop',
): FinishedGeneration {
  const textOf = (type: OutputPart['type']) =>
    parts.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('')
  const toolCalls = parts.flatMap((part) => (part.type === 'tool-call' ? [part.call] : []))
  return { parts, reasoning: textOf('reasoning'), text: textOf('text'), toolCalls, finishReason, usage }
}

const respond = (...given: Parameters<typeof finished>) =>
  ResponseObject.parse(JSON.parse(toObject(finished(...given), createResponsesAnswer())))

it('is a response with exactly the fields of its schema', () => {
  const response = respond([REASONING, TEXT, CALL], 'tool-calls')
  expect(ResponseObject.strict().parse(response)).toEqual(response)
  expect(response).toMatchObject({
    id: 'resp_0197-x',
    object: 'response',
    created_at: 1_700_000_000,
    completed_at: 1_700_000_002,
    status: 'completed',
    incomplete_details: null,
    error: null,
    model: 'org/demo',
    usage: {
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 2, cache_write_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 9,
    },
    store: false,
  })
})

it('has the items in the order in which they were generated, each with an id of its own', () => {
  expect(respond([REASONING, TEXT, CALL, { type: 'text', text: '!' }], 'tool-calls').output).toEqual([
    {
      id: 'rs_0197-x_0',
      type: 'reasoning',
      status: 'completed',
      summary: [{ type: 'summary_text', text: 'hm' }],
      content: [{ type: 'reasoning_text', text: 'hm' }],
    },
    {
      id: 'msg_0197-x_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
    },
    {
      id: 'fc_0197-x_2',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_0',
      name: 'f',
      arguments: '{"a":1}',
    },
    {
      id: 'msg_0197-x_3',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: '!', annotations: [], logprobs: [] }],
    },
  ])
})

it('is incomplete when the limit was reached, and so is only its last item', () => {
  const response = respond([REASONING, TEXT], 'length')
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    completed_at: null,
  })
  expect(response.output.map(({ status }) => status)).toEqual(['completed', 'incomplete'])
})

it('has an empty message without text and calls', () => {
  const empty = { type: 'message', content: [{ type: 'output_text', text: '' }] }
  expect(respond([]).output).toMatchObject([{ ...empty, status: 'completed' }])
  expect(respond([REASONING], 'length').output).toMatchObject([
    { type: 'reasoning', status: 'incomplete' },
    { ...empty, id: 'msg_0197-x_1', status: 'incomplete' },
  ])
})

it('has no message with calls only', () => {
  expect(respond([REASONING, CALL], 'tool-calls').output.map(({ type }) => type)).toEqual([
    'reasoning',
    'function_call',
  ])
})
