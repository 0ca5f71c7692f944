import { expect, test } from 'vitest'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { toGeneration as ofChat } from '#apps/gateway/endpoints/chat-completions/to-generation.ts'
import { CompletionBody } from '#apps/gateway/endpoints/completions/completion-body.ts'
import { toGeneration as ofCompletion } from '#apps/gateway/endpoints/completions/to-generation.ts'
import { ResponsesBody } from '#apps/gateway/endpoints/responses/responses-body.ts'
import { toGeneration as ofResponse } from '#apps/gateway/endpoints/responses/to-generation.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const model = modelSpec({ maxOutputTokens: 2_048 })
type Body = Record<string, unknown>
const chat = (body: Body) =>
  ofChat(parseBody(ChatBody, { messages: [{ role: 'user', content: 'Hi' }], ...body }), model).request
const completion = (body: Body) =>
  ofCompletion(parseBody(CompletionBody, { prompt: 'Hi', ...body }), model).request
const response = (body: Body) => ofResponse(parseBody(ResponsesBody, { input: 'Hi', ...body }), model).request

const refusal = (param: string, text: string) =>
  expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining(text) })

test.each([chat, completion, response])('every operation passes both fields on', (translate) => {
  expect(translate({ min_tokens: 20, ignore_eos: true, max_tokens: 20 })).toMatchObject({
    minTokens: 20,
    ignoreEos: true,
  })
  const request = translate({ min_tokens: 0, ignore_eos: false })
  expect([request.minTokens, request.ignoreEos]).toEqual([undefined, undefined])
})

test('a least number above the limit is refused, also above the limit of a request without one', () => {
  expect(() => chat({ min_tokens: 21, max_tokens: 20 })).toThrow(refusal('min_tokens', 'at most 20'))
  expect(() => chat({ min_tokens: 2_049 })).toThrow(refusal('min_tokens', 'at most 2048'))
  expect(() => completion({ min_tokens: 1_025 })).toThrow(refusal('min_tokens', 'at most 1024'))
  expect(() => response({ min_tokens: 9, max_output_tokens: 8 })).toThrow(refusal('min_tokens', 'at most 8'))
})

test.each([-1, 1.5, '5'])('a least number of %j is refused', (value) => {
  expect(() => chat({ min_tokens: value })).toThrow(refusal('min_tokens', 'at least 0'))
})

const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }

test.each<[string, Body]>([
  ['a format', { response_format: { type: 'json_object' } }],
  ['a forced call', { tools: [tool], tool_choice: 'required' }],
  ['a strict tool', { tools: [{ ...tool, function: { ...tool.function, strict: true } }] }],
])('with %s, whose grammar ends the output, both are refused', (_name, body) => {
  expect(() => chat({ ...body, min_tokens: 5 })).toThrow(refusal('min_tokens', 'grammar'))
  expect(() => chat({ ...body, ignore_eos: true })).toThrow(refusal('ignore_eos', 'grammar'))
})

test('with tools that the model is free to call both are served', () => {
  expect(chat({ tools: [tool], min_tokens: 5 })).toMatchObject({ minTokens: 5 })
})
