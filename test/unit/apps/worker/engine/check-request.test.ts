import { describe, expect, it } from 'vitest'
import { checkRequest } from '#apps/worker/engine/check-request.ts'
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
    [/prompt must not be empty/, { promptIds: new Uint32Array(0) }],
    [/max_tokens .* got 0/, { maxTokens: 0 }],
    [/min_tokens .* got 9/, { minTokens: 9 }],
    [/max_tokens .* got 1.5/, { maxTokens: 1.5 }],
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
    [/repetition_penalty .* got 0/, { sampling: { repetitionPenalty: 0 } }],
    [/logit_bias names 9999999999/, { sampling: { logitBias: { '9999999999': 1 } } }],
    [/logit_bias names cat/, { sampling: { logitBias: { cat: 1 } } }],
    [/logit_bias of token 7 .* got Infinity/, { sampling: { logitBias: { '7': Number.POSITIVE_INFINITY } } }],
    [/stop must not contain an empty string/, { stop: ['a', ''] }],
  ])('refuses with %s', ([message, change]) => {
    expect(() => checkRequest({ ...request, ...change })).toThrow(
      expect.objectContaining({ kind: 'refused', message: expect.stringMatching(message) }),
    )
  })
})
