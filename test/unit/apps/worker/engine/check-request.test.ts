import { describe, expect, it } from 'vitest'
import { checkRequest, type EngineLimits } from '#apps/worker/engine/check-request.ts'
import type { EngineRequest } from '#apps/worker/engine/engine-client.ts'

const request: EngineRequest = {
  requestId: 'r',
  promptIds: Uint32Array.of(1, 2),
  sampling: {},
  maxTokens: 8,
  endIds: [],
  stop: [],
  constraint: null,
  cacheSalt: null,
}

describe('checkRequest', () => {
  it('lets pass what the engine takes, borders included', () => {
    const low = { temperature: 0, topP: 0.01, topK: -1, minP: 0, frequencyPenalty: -2, presencePenalty: -2 }
    const high = { temperature: 2, topP: 1, topK: 100_000, minP: 1, frequencyPenalty: 2, presencePenalty: 2 }
    for (const sampling of [
      {},
      { ...low, repetitionPenalty: 0.1, seed: 0, logitBias: { '0': -100 } },
      { ...high, repetitionPenalty: 9, seed: 2 ** 31 - 1 },
    ]) {
      expect(() => checkRequest({ ...request, sampling, stop: ['x'] })).not.toThrow()
    }
  })

  it.for<[RegExp, Partial<EngineRequest>]>([
    [/decoder prompt cannot be empty/, { promptIds: new Uint32Array(0) }],
    [/max_tokens .* got 0/, { maxTokens: 0 }],
    [/min_tokens .* got 9/, { minTokens: 9 }],
    [/max_tokens must be a whole number, got 1.5/, { maxTokens: 1.5 }],
    [/temperature .* got -1/, { sampling: { temperature: -1 } }],
    [/temperature .* got 3/, { sampling: { temperature: 3 } }],
    [/temperature .* got NaN/, { sampling: { temperature: Number.NaN } }],
    [/top_p .* got 0/, { sampling: { topP: 0 } }],
    [/top_p .* got 1.1/, { sampling: { topP: 1.1 } }],
    [/top_k .* got -2/, { sampling: { topK: -2 } }],
    [/min_p .* got 2/, { sampling: { minP: 2 } }],
    [/frequency_penalty .* got 3/, { sampling: { frequencyPenalty: 3 } }],
    [/presence_penalty .* got -3/, { sampling: { presencePenalty: -3 } }],
    [/repetition_penalty .* got -1/, { sampling: { repetitionPenalty: -1 } }],
    [/top_p .* got 1e-46/, { sampling: { topP: 1e-46 } }],
    [/top_k .* got 1.5/, { sampling: { topK: 1.5 } }],
    [/seed .* got -1/, { sampling: { seed: -1 } }],
    [/seed .* got 2147483648/, { sampling: { seed: 2 ** 31 } }],
    [/logprobs .* got 21/, { topLogprobs: 21 }],
    [/prompt_logprobs .* got -1/, { promptLogprobs: -1 }],
    [/token_id\(s\) \[-1, 0.5\] in stop_token_ids/, { endIds: [-1, 0.5, 3] }],
    [/repetition_penalty .* got 0/, { sampling: { repetitionPenalty: 0 } }],
    [/token_id\(s\) \[9999999999\] in logit_bias/, { sampling: { logitBias: { '9999999999': 1 } } }],
    [/logit_bias names cat/, { sampling: { logitBias: { cat: 1 } } }],
    [/logit_bias of token 7 .* got Infinity/, { sampling: { logitBias: { '7': Number.POSITIVE_INFINITY } } }],
    [/stop cannot contain an empty string/, { stop: ['a', ''] }],
  ])('refuses with %s', ([message, change]) => {
    expect(() => checkRequest({ ...request, ...change })).toThrow(
      expect.objectContaining({ kind: 'refused', message: expect.stringMatching(message) }),
    )
  })

  const limits: EngineLimits = { maxContextLength: 4, vocabularySize: 100 }

  it.for<[RegExp, Partial<EngineRequest>]>([
    [/^Token id 100 is out of vocabulary$/, { promptIds: Uint32Array.of(1, 100) }],
    [/length 4\) is longer than the maximum model length of 4/, { promptIds: new Uint32Array(4) }],
    [
      /^token_id\(s\) \[100\] in logit_bias contain out-of-vocab token ids. Vocabulary size: 100$/,
      { sampling: { logitBias: { '100': 1, '99': 1 } } },
    ],
    [/\[100\] in stop_token_ids/, { endIds: [99, 100] }],
  ])('refuses with %s once the engine has reported its limits', ([message, change]) => {
    expect(() => checkRequest({ ...request, ...change })).not.toThrow()
    expect(() => checkRequest({ ...request, ...change }, limits)).toThrow(
      expect.objectContaining({ kind: 'refused', message: expect.stringMatching(message) }),
    )
  })

  it('lets pass the last id, and a prompt that leaves room for one token', () => {
    const change = {
      promptIds: Uint32Array.of(99, 99, 99),
      endIds: [99],
      sampling: { logitBias: { '99': 1 } },
    }
    expect(() => checkRequest({ ...request, ...change }, limits)).not.toThrow()
  })
})
