import { expect, it } from 'vitest'
import { refuseUnsupported } from '#apps/gateway/endpoints/fields/refuse-unsupported.ts'

it.each([
  ['n', 2],
  ['n', 0],
  ['logprobs', true],
  ['top_logprobs', 3],
  ['functions', [{ name: 'f' }]],
  ['function_call', { name: 'f' }],
  ['modalities', ['text', 'audio']],
  ['audio', { voice: 'x' }],
  ['prediction', { type: 'content', content: 'x' }],
  ['web_search_options', {}],
  ['min_tokens', 5],
  ['ignore_eos', true],
  ['stop_token_ids', [2]],
  ['bad_words', ['x']],
  ['guided_json', {}],
  ['structured_outputs', {}],
  ['echo', true],
  ['suffix', 'x'],
  ['best_of', 2],
  ['logprobs', 0],
  ['prompt_embeds', 'x'],
])('refuses %s %j and names it', (field, value) => {
  expect(() => refuseUnsupported({ [field]: value })).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      param: field,
      message: expect.stringContaining(`'${field}'`),
    }),
  )
})

it('accepts values without an effect, and unknown fields', () => {
  expect(() =>
    refuseUnsupported({
      n: 1,
      logprobs: false,
      top_logprobs: 0,
      functions: [],
      function_call: 'auto',
      suffix: '',
      echo: false,
      best_of: 1,
      modalities: ['text'],
      min_tokens: 0,
      stop_token_ids: [],
      chat_template_kwargs: {},
      audio: null,
      store: true,
      metadata: { a: 'b' },
      user: 'u',
      service_tier: 'auto',
      verbosity: 'low',
      prompt_cache_key: 'k',
      prompt_tokens: 9,
      constructor: 'x',
      x_unknown: { a: 1 },
    }),
  ).not.toThrow()
})
