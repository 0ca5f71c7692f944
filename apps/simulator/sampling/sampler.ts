import type { Script } from './script.ts'
import { createStopMatcher, type StopMatcher } from './match-stop-string.ts'
import { unitHash } from './unit-hash.ts'

export type SamplingSettings = {
  readonly greedy: boolean
  readonly seed: number
  readonly maxTokens: number | null
  readonly minTokens: number
  readonly ignoreEos: boolean
  readonly stop: readonly string[]
  readonly stopTokenIds: readonly number[]
  readonly skipSpecialTokens: boolean
  readonly logitBias: ReadonlyMap<number, number>
  /** How many log probabilities are reported with each token; null: none at all. */
  readonly topLogprobs: number | null
  /** How many log probabilities are reported with each token of the prompt; null: none at all. */
  readonly promptLogprobs: number | null
}

export type Finish = {
  readonly reason: 'stop' | 'length' | 'abort' | 'error'
  readonly matchedTokenId?: number
  readonly matchedStopString?: string
}

export type Sampler = {
  /**
   * Returns the next token of this call, and the finish if it is the last token. Where the grammar allows no token, the
   * call finishes with an error and without a token.
   */
  next(): { tokenId: number; finish: Finish | null } | typeof DEAD
}

export type SampledModel = {
  readonly maxModelLen: number
  readonly vocabularySize: number
  /** config.json's end token; it ends a call without being named as the matched stop. */
  readonly primaryEosId: number
  readonly eosIds: ReadonlySet<number>
  readonly decode: (ids: ArrayLike<number>) => string
  readonly isSpecial: (id: number) => boolean
}

/**
 * Turns a script into tokens by vLLM's rules, as recorded in test/fixtures/engine:
 * - No end token or stop token comes before `minTokens`.
 * - End tokens and the text of a stop string are delivered.
 * - If a stop id of the caller or an end token ends the output, `matchedTokenId` is this token. There is one exception:
 *   if the primary end token ends the output and `ignoreEos` is false, `matchedTokenId` is absent.
 * - If the same token completes a stop string and reaches a length limit, the stop string counts.
 */
export function createSampler(options: {
  model: SampledModel
  settings: SamplingSettings
  script: Script
  promptTokens: number
}): Sampler {
  const { model, settings, script, promptTokens } = options
  const namedStops = new Set(settings.stopTokenIds)
  if (!settings.ignoreEos) for (const id of model.eosIds) namedStops.add(id)
  const bias = strongestBias(settings.logitBias)
  const matcher: StopMatcher | null =
    settings.stop.length === 0
      ? null
      : createStopMatcher({ stops: settings.stop, decode: model.decode, skips: skippedBy(model, settings) })
  let count = 0

  const endsUnnamed = (id: number) => id === model.primaryEosId && !settings.ignoreEos
  const stops = (id: number) => endsUnnamed(id) || namedStops.has(id)
  const maskedUntilMinimum = (id: number) => count < settings.minTokens && stops(id)
  const chance = (id: number) => {
    const value = settings.logitBias.get(id)
    // The probability of a token with this bias, if without the bias all tokens of the vocabulary had the same
    // probability. The formula makes no exception for the token that the script wants: it is not more probable.
    return value === undefined ? null : 1 / (1 + model.vocabularySize * Math.exp(-value))
  }
  const drawn = (probability: number) =>
    settings.greedy ? probability > 0.5 : unitHash(settings.seed, promptTokens + count) < probability

  function choose(): number | null {
    const wanted = script.at(count)
    if (wanted === null && script.isDeadEnd === true) return null
    if (script.constrained) return wanted ?? script.endId(count)
    if (bias !== null && !maskedUntilMinimum(bias) && drawn(chance(bias) ?? 0)) return bias
    const endable = !settings.ignoreEos && count >= settings.minTokens
    const id = wanted ?? (endable ? script.endId(count) : script.filler(count))
    return allowed(id) ? id : replacement()
  }

  function allowed(id: number): boolean {
    if (maskedUntilMinimum(id)) return false
    const value = settings.logitBias.get(id)
    return value === undefined || value > -Math.log(model.vocabularySize)
  }

  function replacement(): number {
    for (let offset = 0; offset < MAX_REPLACEMENTS; offset++) {
      const id = script.filler(count + offset)
      if (allowed(id)) return id
    }
    // If all filler is forbidden, any other id of the vocabulary is taken.
    let id = 0
    while (!allowed(id) && id < model.vocabularySize - 1) id += 1
    return id
  }

  function finishOf(id: number): Finish | null {
    const endable = count > settings.minTokens
    // The matcher comes before the end tokens are checked, so that it receives every token.
    const matched = matcher?.push(id, endable) ?? null
    if (endable && stops(id))
      return endsUnnamed(id) ? { reason: 'stop' } : { reason: 'stop', matchedTokenId: id }
    if (matched !== null) return { reason: 'stop', matchedStopString: matched }
    const full = promptTokens + count >= model.maxModelLen
    if (full || (settings.maxTokens !== null && count >= settings.maxTokens)) return { reason: 'length' }
    return null
  }

  return {
    next() {
      const tokenId = choose()
      if (tokenId === null) return DEAD
      count += 1
      return { tokenId, finish: finishOf(tokenId) }
    },
  }
}

const MAX_REPLACEMENTS = 64

const DEAD = { tokenId: null, finish: { reason: 'error' } } as const

function strongestBias(biases: ReadonlyMap<number, number>): number | null {
  let strongest: number | null = null
  let highest = 0
  for (const [id, value] of biases) {
    if (value > highest) {
      highest = value
      strongest = id
    }
  }
  return strongest
}

function skippedBy(model: SampledModel, settings: SamplingSettings): (id: number) => boolean {
  return settings.skipSpecialTokens ? model.isSpecial : () => false
}
