import { expect, it } from 'vitest'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { toGeneration as toChat } from '#apps/gateway/endpoints/chat-completions/to-generation.ts'
import { CompletionBody } from '#apps/gateway/endpoints/completions/completion-body.ts'
import { toGeneration as toCompletion } from '#apps/gateway/endpoints/completions/to-generation.ts'
import { MOST_LISTED } from '#apps/gateway/endpoints/fields/logprobs.ts'
import { ResponsesBody } from '#apps/gateway/endpoints/responses/responses-body.ts'
import { toGeneration as toResponse } from '#apps/gateway/endpoints/responses/to-generation.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const MODEL = modelSpec({ maxOutputTokens: 100_000, contextWindow: 131_072 })
const chat = (body: object) =>
  toChat(parseBody(ChatBody, { messages: [{ role: 'user', content: 'Hi' }], ...body }), MODEL).maxOutputTokens
const completion = (body: object) =>
  toCompletion(parseBody(CompletionBody, { prompt: 'Hi', ...body }), MODEL).maxOutputTokens
const response = (body: object) =>
  toResponse(parseBody(ResponsesBody, { input: 'Hi', ...body }), MODEL).maxOutputTokens

const ALL = { logprobs: true, top_logprobs: 20 }

it('a whole chat answer lists at most 8,192 tokens, a stream as many as the model writes', () => {
  expect(MOST_LISTED).toBe(8_192)
  expect(chat({ logprobs: true })).toBe(8_192)
  expect(chat(ALL)).toBe(390)
  expect(chat({ ...ALL, max_tokens: 390 })).toBe(390)
  expect(chat({ ...ALL, stream: true })).toBeNull()
  expect(chat({ ...ALL, stream: true, max_tokens: 50_000 })).toBe(50_000)
  expect(chat({})).toBeNull()
})

it('a whole legacy answer has its own default limit, or less', () => {
  expect(completion({ logprobs: 0 })).toBe(1_024)
  expect(completion({ logprobs: 20 })).toBe(390)
  expect(completion({ logprobs: 20, stream: true })).toBe(1_024)
  expect(completion({ logprobs: 1, max_tokens: 2_730 })).toBe(2_730)
})

const LISTED = { include: ['message.output_text.logprobs'], top_logprobs: 20 }

it('a response lists at most as many, streamed or not, because the end of its stream repeats the list', () => {
  expect(response(LISTED)).toBe(390)
  expect(response({ ...LISTED, top_logprobs: 0 })).toBe(8_192)
  expect(response({ ...LISTED, stream: true })).toBe(390)
  expect(response({ ...LISTED, stream: true, max_output_tokens: 100 })).toBe(100)
  expect(response({ ...LISTED, include: [] })).toBeNull()
})

it.each([
  ['max_output_tokens', { max_output_tokens: 391 }],
  ['max_tokens', { max_tokens: 391, stream: true }],
])('a higher limit of a response is refused with the name %s', (param, body) => {
  const message = `'${param}': an answer with these log probabilities has at most 390 tokens.`
  expect(() => response({ ...LISTED, ...body })).toThrow(
    expect.objectContaining({ code: 'invalid_request', param, message }),
  )
})

it.each([
  ['max_tokens', () => chat({ ...ALL, max_tokens: 391 })],
  ['max_completion_tokens', () => chat({ ...ALL, max_completion_tokens: 391 })],
  ['max_tokens', () => completion({ logprobs: 20, max_tokens: 391 })],
])('a limit above that is refused with the name %s', (param, refused) => {
  const message = `'${param}': an answer with these log probabilities has at most 390 tokens unless it is streamed.`
  expect(refused).toThrow(expect.objectContaining({ code: 'invalid_request', param, message }))
})

it('a model that writes less keeps its own limit', () => {
  const small = modelSpec({ maxOutputTokens: 256 })
  const body = parseBody(ChatBody, { messages: [{ role: 'user', content: 'Hi' }], ...ALL })
  expect(toChat(body, small).maxOutputTokens).toBeNull()
})

it('the answers of one request share the limit', () => {
  expect(chat({ ...ALL, n: 4 })).toBe(97)
  expect(chat({ ...ALL, n: 4, stream: true })).toBeNull()
  expect(completion({ logprobs: 20, n: 8 })).toBe(48)
  expect(() => chat({ ...ALL, n: 4, max_tokens: 98 })).toThrow(
    "'max_tokens': each of 4 answers with these log probabilities has at most 97 tokens unless it is streamed.",
  )
})
