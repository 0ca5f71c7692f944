import { describe, expect, it } from 'vitest'
import { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { completions } from '#apps/gateway/endpoints/completions/endpoint.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const model = modelSpec({ id: 'org/demo', reasoning: true, defaultEffort: 'low' })
const PROMPT = { model: 'org/demo', prompt: 'Hi' }

const prepareFor = (spec: ModelSpec, body: Record<string, unknown>) =>
  completions.prepare(body, { find: (id) => (id === spec.id ? spec : null) })
const prepare = (body: Record<string, unknown>) => prepareFor(model, { ...PROMPT, ...body })

describe('a prompt', () => {
  it.each([
    ['text', 'Hi', 'Hi'],
    ['empty text', '', ''],
    ['one string', ['Hi'], 'Hi'],
    ['several strings, joined with a newline', ['a', '', 'b\n'], 'a\n\nb\n'],
  ])('that is %s becomes one user message', (_name, prompt, content) => {
    const { request } = prepare({ prompt })
    expect(request.messages).toEqual([{ role: 'user', content }])
    expect(ChatRequest.parse(request)).toEqual(request)
  })

  it.each([
    ['missing', undefined, 'is required'],
    ['null', null, 'is required'],
    ['an empty array', [], 'expected at least one string'],
    [
      'tokens',
      [1, 2, 3],
      'token ids are not supported: send their text (lm-eval does with tokenized_requests=False)',
    ],
    ['arrays of tokens', [[1, 2], [3]], 'token ids are not supported'],
    ['partly tokens', ['a', 5], 'token ids are not supported'],
    ['a number', 5, 'expected text or an array of strings'],
  ])('that is %s is refused in clear words', (_name, prompt, message) => {
    expect(() => prepare({ prompt })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: 'prompt',
        message: expect.stringContaining(message),
      }),
    )
  })
})

describe('the checks', () => {
  it.each([
    ['no model', { prompt: 'Hi' }, 'invalid_request', 'model'],
    ['no prompt of an unknown model', { model: 'nope' }, 'invalid_request', 'prompt'],
    ['an unknown model', { ...PROMPT, model: 'nope', prompt: [] }, 'model_not_found', undefined],
    ['an unsupported field', { ...PROMPT, suffix: 'x', prompt: [] }, 'invalid_request', 'suffix'],
    ['a wrong limit', { ...PROMPT, max_tokens: 0 }, 'invalid_request', 'max_tokens'],
    ['a wrong stream', { ...PROMPT, stream: 'yes' }, 'invalid_request', 'stream'],
  ])('refuse %s', (...[, body, code, param]) => {
    expect(() => prepareFor(model, body)).toThrow(expect.objectContaining({ code, param }))
  })

  it('refuse a model that does not chat', () => {
    expect(() => prepareFor(modelSpec({ id: 'org/demo', kind: 'embedding' }), PROMPT)).toThrow(
      expect.objectContaining({ code: 'model_not_found' }),
    )
  })
})

it.each([
  [{}, 2_048, 1_024],
  [{ max_tokens: null }, 2_048, 1_024],
  [{}, 500, 500],
  [{ max_tokens: 7 }, 2_048, 7],
  [{ max_tokens: 9_000 }, 2_048, 2_048],
])('the output limit of %j on a model of %d tokens is %d', (body, maxOutputTokens, expected) => {
  const prepared = prepareFor({ ...model, maxOutputTokens }, { ...PROMPT, ...body })
  expect(prepared.maxOutputTokens).toBe(expected)
})

it('has no tools and no reasoning, whatever the model’s defaults are', () => {
  const { request } = prepare({})
  expect(request).toMatchObject({ tools: [], toolChoice: 'auto', reasoningEffort: 'off' })
  expect(() => prepare({ tools: [{ type: 'function', function: { name: 'f' } }] })).toThrow("'tools' is not")
  expect(prepare({ reasoning_effort: 'high' }).request.reasoningEffort).toBe('off')
})

it('reads sampling, stop and the output format as chat does', () => {
  const { request, stream } = prepare({
    temperature: 0.5,
    seed: 3,
    stop: '##',
    stream: true,
    response_format: { type: 'json_object' },
  })
  expect(request).toMatchObject({
    sampling: { temperature: 0.5, seed: 3 },
    stop: ['##'],
    outputFormat: { type: 'json-object' },
  })
  expect(stream).toBe(true)
})
