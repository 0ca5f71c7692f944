import type { Logprob, TokenLogprob } from '#libs/contracts/generation-event.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { OutputLogprob } from '../../engine/decode-logprobs.ts'
import type { EngineTokens } from '../../engine/engine-client.ts'
import { EngineError } from '../../engine/engine-error.ts'
import { toTokenText } from './token-text.ts'

/** The log probabilities of one run's output, from the engine until their tokens are passed on. */
export type OutputLogprobs = {
  /** Keeps the log probabilities of tokens. Throws an `EngineError` if there is not one for each token. */
  keep(tokens: EngineTokens): void
  /** Returns the log probabilities of the next tokens, which have these ids. */
  take(ids: ArrayLike<number>): TokenLogprob[]
}

type Deps = {
  readonly tokenizer: Pick<Tokenizer, 'decode'>
  /** The output ids of earlier epochs: the first token may complete a character that they began. */
  readonly earlierIds: ArrayLike<number>
}

export function createOutputLogprobs({ tokenizer, earlierIds }: Deps): OutputLogprobs {
  let waiting: OutputLogprob[] = []
  /** The last ids before the next token. */
  const context = Array.from(earlierIds).slice(-CONTEXT_IDS)

  function toTokenLogprob(id: number, { logprob, topIds, topLogprobs }: OutputLogprob): TokenLogprob {
    const toLogprob = (one: number, value = NaN): Logprob => ({
      token: toTokenText(tokenizer, one, context),
      logprob: toBoundedLogprob(value),
    })
    return { ...toLogprob(id, logprob), top: topIds.map((one, at) => toLogprob(one, topLogprobs[at])) }
  }

  return {
    keep({ ids, logprobs = [] }) {
      if (logprobs.length !== ids.length || logprobs.some(isUnknownLogprob)) {
        throw new EngineError('failed', 'the engine has sent tokens without their log probabilities')
      }
      waiting.push(...logprobs)
    },
    take(ids) {
      const taken = waiting.slice(0, ids.length).map((logprob, at) => {
        const id = ids[at] ?? 0
        const described = toTokenLogprob(id, logprob)
        context.push(id)
        if (context.length > CONTEXT_IDS) context.shift()
        return described
      })
      waiting = waiting.slice(ids.length)
      return taken
    },
  }
}

/** A character has at most four bytes, so it begins at most three tokens before its last one. */
export const CONTEXT_IDS = 4

/** JSON has no infinity. vLLM's HTTP server sends this number for a probability of 0. */
const LEAST = -9_999

/** Returns a log probability that JSON can express. */
export const toBoundedLogprob = (value: number) => Math.max(value, LEAST)

/** Returns whether a log probability, or one of the log probabilities beside it, is not a number. */
export const isUnknownLogprob = ({ logprob, topLogprobs }: OutputLogprob) =>
  Number.isNaN(logprob) || topLogprobs.some((value) => Number.isNaN(value))
