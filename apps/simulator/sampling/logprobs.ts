import { unitHash } from './unit-hash.ts'

/** One position: the token that stands there first, then the likeliest others. */
export type PositionLogprobs = {
  readonly tokenId: number
  readonly logprob: number
  readonly top: readonly { readonly tokenId: number; readonly logprob: number }[]
}

/**
 * Well-shaped invented numbers: the chosen token has most of the probability, the others share the rest and
 * fall off. `top` has `count` entries with the chosen token first, as vLLM orders them; 0 means none.
 */
export function inventLogprobs(options: {
  tokenId: number
  position: number
  count: number
  vocabularySize: number
}): PositionLogprobs {
  const { tokenId, position, count, vocabularySize } = options
  const probability = 0.6 + 0.399 * unitHash(tokenId, position)
  const logprob = Math.log(probability)
  const top = count === 0 ? [] : [{ tokenId, logprob }]
  let rest = 1 - probability
  for (let rank = 1; rank < Math.min(count, vocabularySize); rank++) {
    rest /= 2
    top.push({ tokenId: (tokenId + rank * 7 + 1) % vocabularySize, logprob: Math.log(rest) })
  }
  return { tokenId, logprob, top }
}
