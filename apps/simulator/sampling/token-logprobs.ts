import { unitHash } from './unit-hash.ts'

/** The log probability of a sampled token, with the tokens that are reported beside it. */
export type SampledLogprob = {
  readonly logprob: number
  /** The sampled token, then other tokens by their probability, `count` in all; empty if `count` is 0. */
  readonly topIds: readonly number[]
  readonly topLogprobs: readonly number[]
}

/** One of this many sampled tokens is less probable than all tokens that are reported beside it. */
const UNLIKELY = 4

/**
 * Invents the log probability of a token, and `count` tokens that are reported. The result depends only on the token
 * and its position behind the beginning of the prompt, so a continuation on another engine gets the same numbers. A
 * greedy engine samples only the most probable token.
 */
export function inventLogprob(
  tokenId: number,
  {
    position,
    count,
    greedy,
    vocabularySize,
  }: { position: number; count: number; greedy: boolean; vocabularySize: number },
): SampledLogprob {
  const drawn = unitHash(tokenId, position)
  const isUnlikely = !greedy && Math.floor(drawn * UNLIKELY) === 0
  const others = Array.from({ length: Math.max(0, count - 1) }, (_, at) => at + 1)
  const toLogprob = (rank: number) => Math.fround(-drawn - rank / 2)
  const logprob = toLogprob(isUnlikely ? count + 1 : 0)
  if (count === 0) return { logprob, topIds: [], topLogprobs: [] }
  return {
    logprob,
    topIds: [tokenId, ...others.map((rank) => (tokenId + rank * STRIDE) % vocabularySize)],
    topLogprobs: [logprob, ...others.map(toLogprob)],
  }
}

/**
 * Invents the log probabilities of a prompt. They depend only on the tokens and their positions, as for an output.
 * The first token has none.
 */
export function inventPromptLogprobs(
  promptIds: ArrayLike<number>,
  { count, vocabularySize }: { count: number; vocabularySize: number },
): (SampledLogprob | null)[] {
  return Array.from(promptIds, (tokenId, position) =>
    position === 0 ? null : inventLogprob(tokenId, { position, count, greedy: false, vocabularySize }),
  )
}

/** A prime, so that the reported tokens of a place differ. */
const STRIDE = 7_919
