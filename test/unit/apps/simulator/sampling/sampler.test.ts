import { describe, expect, test } from 'vitest'
import { createSampler, type SamplingSettings } from '#apps/simulator/sampling/sampler.ts'
import type { Script } from '#apps/simulator/sampling/script.ts'

const EOS = 90
const OTHER_EOS = 91

/** Ids stand for letters: 0 is `a`, 1 is `b`, and so on. The ids 90 and 91 end a text. */
const model = {
  maxModelLen: 100,
  vocabularySize: 100,
  primaryEosId: EOS,
  eosIds: new Set([EOS, OTHER_EOS]),
  decode: (ids: ArrayLike<number>) =>
    Array.from(ids, (id) => (id < 26 ? String.fromCharCode(97 + id) : `<${id}>`)).join(''),
  isSpecial: (id: number) => id >= EOS,
}

const SETTINGS: SamplingSettings = {
  greedy: true,
  seed: 0,
  maxTokens: null,
  minTokens: 0,
  ignoreEos: false,
  stop: [],
  stopTokenIds: [],
  skipSpecialTokens: false,
  logitBias: new Map(),
  topLogprobs: null,
  promptLogprobs: null,
}

function script(tokens: readonly number[], constrained = false): Script {
  return {
    at: (index) => tokens[index] ?? null,
    filler: () => 25,
    endId: () => (constrained ? OTHER_EOS : EOS),
    constrained,
  }
}

function sample(given: Script, settings: Partial<SamplingSettings> = {}, promptTokens = 10) {
  const sampler = createSampler({
    model,
    settings: { ...SETTINGS, ...settings },
    script: given,
    promptTokens,
  })
  const ids: number[] = []
  for (let i = 0; i < 200; i++) {
    const { tokenId, finish } = sampler.next()
    if (tokenId !== null) ids.push(tokenId)
    if (finish !== null) return { ids, finish }
  }
  return { ids, finish: null }
}

describe('ends', () => {
  test('the end token is delivered and the primary one is not named', () => {
    expect(sample(script([0, 1]))).toEqual({ ids: [0, 1, EOS], finish: { reason: 'stop' } })
  })

  test('another end token is named, as it is when a finished grammar chooses it', () => {
    const { ids, finish } = sample(script([0, 1], true))
    expect(ids).toEqual([0, 1, OTHER_EOS])
    expect(finish).toEqual({ reason: 'stop', matchedTokenId: OTHER_EOS })
  })

  test('where a grammar allows no token, the call ends with an error, after the tokens before', () => {
    const dead = { ...script([0, 1], true), isDeadEnd: true }
    expect(sample(dead)).toEqual({ ids: [0, 1], finish: { reason: 'error' } })
    expect(sample(dead, { maxTokens: 2 })).toEqual({ ids: [0, 1], finish: { reason: 'length' } })
  })

  test('a stop token id is delivered and named', () => {
    const { ids, finish } = sample(script([0, 1, 2]), { stopTokenIds: [1] })
    expect(ids).toEqual([0, 1])
    expect(finish).toEqual({ reason: 'stop', matchedTokenId: 1 })
  })

  test('an end token that the caller named stops and is named even with ignore_eos', () => {
    const { ids, finish } = sample(script([0, EOS, 2]), { stopTokenIds: [EOS], ignoreEos: true })
    expect(ids).toEqual([0, EOS])
    expect(finish).toEqual({ reason: 'stop', matchedTokenId: EOS })
  })

  test('the caller’s limit and the context limit end with length', () => {
    expect(sample(script([0, 1, 2]), { maxTokens: 2 })).toEqual({ ids: [0, 1], finish: { reason: 'length' } })
    expect(sample(script([0, 1, 2]), {}, 98)).toEqual({ ids: [0, 1], finish: { reason: 'length' } })
  })

  test('the end token at the limit is an end, not a cut', () => {
    expect(sample(script([0]), { maxTokens: 2 }).finish).toEqual({ reason: 'stop' })
  })

  test('with ignore_eos it never ends by itself and never writes an end token', () => {
    const { ids, finish } = sample(script([0, 1]), { ignoreEos: true, maxTokens: 6 })
    expect(ids).toEqual([0, 1, 25, 25, 25, 25])
    expect(finish).toEqual({ reason: 'length' })
  })
})

describe('min_tokens', () => {
  test('puts the end off until that many tokens exist', () => {
    expect(sample(script([0]), { minTokens: 4 }).ids).toEqual([0, 25, 25, 25, EOS])
  })

  test('a stop token id is not said before', () => {
    expect(sample(script([0, 1, 2, 1]), { minTokens: 3, stopTokenIds: [1] }).ids).toEqual([0, 25, 2, 1])
  })

  test('a stop string that was complete before does not stop later', () => {
    const { ids, finish } = sample(script([0, 1, 2, 3, 0, 1, 4]), { minTokens: 3, stop: ['ab'] })
    expect(ids).toEqual([0, 1, 2, 3, 0, 1])
    expect(finish).toEqual({ reason: 'stop', matchedStopString: 'ab' })
  })
})

describe('stop strings', () => {
  test('are delivered with the token that completes them, also across tokens', () => {
    const { ids, finish } = sample(script([0, 1, 2, 3]), { stop: ['x', 'bc'] })
    expect(ids).toEqual([0, 1, 2])
    expect(finish).toEqual({ reason: 'stop', matchedStopString: 'bc' })
  })

  test('win over the length limit on the same token', () => {
    expect(sample(script([0, 1, 2]), { stop: ['c'], maxTokens: 3 }).finish).toEqual({
      reason: 'stop',
      matchedStopString: 'c',
    })
  })

  test('match special tokens unless these are skipped', () => {
    const settings = { stop: ['<90>'], ignoreEos: true, maxTokens: 3 }
    expect(sample(script([0, EOS, 1]), settings).finish).toEqual({
      reason: 'stop',
      matchedStopString: '<90>',
    })
    expect(sample(script([0, EOS, 1]), { ...settings, skipSpecialTokens: true }).finish).toEqual({
      reason: 'length',
    })
  })

  test('are found however long the text before is', () => {
    const tokens = [...Array.from({ length: 80 }, (_, i) => i % 20), 21, 22, 23]
    expect(sample(script(tokens), { stop: ['vw'] }, 1)).toMatchObject({ finish: { matchedStopString: 'vw' } })
  })
})

describe('logit_bias', () => {
  test('a strong bias decides every token, except under a grammar', () => {
    const settings = { logitBias: new Map([[7, 100]]), maxTokens: 3 }
    expect(sample(script([0, 1, 2]), settings).ids).toEqual([7, 7, 7])
    expect(sample(script([0, 1, 2], true), settings).ids).toEqual([0, 1, 2])
  })

  test('a biased end token waits for min_tokens', () => {
    const settings = { logitBias: new Map([[EOS, 100]]), minTokens: 2 }
    expect(sample(script([0, 1, 2]), settings).ids).toEqual([0, 1, EOS])
  })

  test('a forbidden token is replaced', () => {
    expect(sample(script([0, 1, 2]), { logitBias: new Map([[1, -100]]), maxTokens: 3 }).ids).toEqual([
      0, 25, 2,
    ])
  })

  test('a middling bias is a matter of chance, the same chance each time', () => {
    const settings = { greedy: false, seed: 3, logitBias: new Map([[7, 4.6]]), maxTokens: 40 }
    const tokens = Array.from({ length: 60 }, () => 1)
    const { ids } = sample(script(tokens), settings)
    expect(new Set(ids)).toEqual(new Set([1, 7]))
    expect(sample(script(tokens), settings).ids).toEqual(ids)
  })
})
