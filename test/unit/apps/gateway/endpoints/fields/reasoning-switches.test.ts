import { expect, test } from 'vitest'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { toGeneration } from '#apps/gateway/endpoints/chat-completions/to-generation.ts'
import { ResponsesBody } from '#apps/gateway/endpoints/responses/responses-body.ts'
import { toGeneration as toGenerationOfResponse } from '#apps/gateway/endpoints/responses/to-generation.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const effortOf = (body: Record<string, unknown>, defaultEffort: 'low' | 'off' = 'low') => {
  const model = modelSpec({ reasoning: true, defaultEffort })
  const parsed = parseBody(ChatBody, { messages: [{ role: 'user', content: 'Hi' }], ...body })
  return toGeneration(parsed, model).request.reasoningEffort
}

const effortOfResponse = (body: Record<string, unknown>) => {
  const model = modelSpec({ reasoning: true, defaultEffort: 'low' })
  return toGenerationOfResponse(parseBody(ResponsesBody, { input: 'Hi', ...body }), model).request
    .reasoningEffort
}

const OFF = [
  { thinking: { type: 'disabled' } },
  { enable_thinking: false },
  { reasoning: { effort: 'none' } },
  { reasoning: { effort: 'off' } },
  { reasoning: { enabled: false } },
  { include_reasoning: false },
  { chat_template_kwargs: { enable_thinking: false } },
  { chat_template_kwargs: { thinking: false } },
]
const ON = [
  { thinking: { type: 'enabled' } },
  { enable_thinking: true },
  { reasoning: { enabled: true } },
  { chat_template_kwargs: { enable_thinking: true } },
  { chat_template_kwargs: { thinking: true } },
]

test.each(OFF)('%j switches reasoning off, on chat and on Responses', (body) => {
  expect(effortOf(body)).toBe('off')
  expect(effortOf({ ...body, reasoning_effort: 'off' })).toBe('off')
  expect(effortOfResponse(body)).toBe('off')
})

test.each(ON)('%j switches reasoning on, by the effort of the model or the request', (body) => {
  expect(effortOf(body)).toBe('low')
  expect(effortOf(body, 'off')).toBe('low')
  expect(effortOf({ ...body, effort: 'max' })).toBe('max')
  expect(effortOfResponse(body)).toBe('low')
})

test.each([
  { reasoning: {} },
  { reasoning: { exclude: false, max_tokens: null } },
  { reasoning: { summary: 'auto' } },
  { include_reasoning: true },
  { thinking: {} },
  { thinking: { type: null, budget_tokens: null } },
  { chat_template_kwargs: {} },
  {
    thinking: null,
    enable_thinking: null,
    reasoning: null,
    include_reasoning: null,
    chat_template_kwargs: null,
  },
])('%j leaves the effort to the model', (body) => {
  expect(effortOf(body, 'off')).toBe('off')
  expect(effortOf(body, 'low')).toBe('low')
})

test('reasoning.effort has a level', () => {
  expect(effortOf({ reasoning: { effort: 'high' } })).toBe('high')
  expect(effortOf({ reasoning: { effort: 'high', enabled: true }, reasoning_effort: 'high' })).toBe('high')
})

test.each<[Record<string, unknown>, first: string, second: string]>([
  [{ reasoning_effort: 'high', enable_thinking: false }, 'reasoning_effort', 'enable_thinking'],
  [{ effort: 'off', thinking: { type: 'enabled' } }, 'effort', 'thinking.type'],
  [{ reasoning: { effort: 'high', enabled: false } }, 'reasoning.effort', 'reasoning.enabled'],
  [{ reasoning: { effort: 'high' }, reasoning_effort: 'low' }, 'reasoning.effort', 'reasoning_effort'],
  [{ enable_thinking: true, include_reasoning: false }, 'include_reasoning', 'enable_thinking'],
  [
    { chat_template_kwargs: { enable_thinking: true, thinking: false } },
    'chat_template_kwargs.thinking',
    'chat_template_kwargs.enable_thinking',
  ],
])('%j contradicts itself', (body, param, other) => {
  expect(() => effortOf(body)).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      param,
      message: `'${param}' and '${other}' differ: expected one of them, or the same value in both.`,
    }),
  )
})

const REFUSED: readonly (readonly [body: Record<string, unknown>, param: string])[] = [
  [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'thinking.budget_tokens'],
  [{ thinking: { type: 'adaptive' } }, 'thinking.type'],
  [{ thinking: { type: 'enabled', clear_thinking: false } }, 'thinking.clear_thinking'],
  [{ thinking: true }, 'thinking'],
  [{ thinking_budget: 50 }, 'thinking_budget'],
  [{ thinking_token_budget: 50 }, 'thinking_token_budget'],
  [{ enable_thinking: 'no' }, 'enable_thinking'],
  [{ reasoning: { effort: 'medium' } }, 'reasoning.effort'],
  [{ reasoning: { max_tokens: 2_000 } }, 'reasoning.max_tokens'],
  [{ reasoning: { exclude: true } }, 'reasoning.exclude'],
  [{ reasoning: 'high' }, 'reasoning'],
  [
    { chat_template_kwargs: { enable_thinking: false, tools_in_user_message: false } },
    'chat_template_kwargs.tools_in_user_message',
  ],
  [{ chat_template_kwargs: { reasoning_effort: 'high' } }, 'chat_template_kwargs.reasoning_effort'],
]

test.each(REFUSED)('%j says more than off or on, and is refused by name', (body, param) => {
  const refusal = expect.objectContaining({ code: 'invalid_request', param })
  expect(() => effortOf(body)).toThrow(refusal)
  expect(() => parseBody(ResponsesBody, { input: 'Hi', ...body })).toThrow(refusal)
})
