import type { Logprob, PromptLogprob, PromptLogprobs } from '#libs/contracts/generation-event.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { InputLogprob } from '../../engine/decode-logprobs.ts'
import type { EngineTokens } from '../../engine/engine-client.ts'
import { EngineError } from '../../engine/engine-error.ts'
import { CONTEXT_IDS, isUnknownLogprob, toBoundedLogprob } from './output-logprobs.ts'
import { toTokenText } from './token-text.ts'

/**
 * One event lists at most this many tokens, with the alternatives. So it has about 64 kB, and a frame has room for
 * several events.
 */
const MOST_LISTED_AT_ONCE = 2_048

/**
 * Returns events with the log probabilities that an engine has sent for the tokens of a prompt. The first token has no
 * log probability. Throws an `EngineError` if the log probability of another token is missing.
 *
 * The texts are the same as in vLLM's HTTP server: the first token is decoded by itself, and does not count as the
 * beginning of a character that a later token completes.
 */
export function describePromptLogprobs(
  { promptLogprobs = [] }: Pick<EngineTokens, 'promptLogprobs'>,
  { tokenizer, promptIds }: { tokenizer: Pick<Tokenizer, 'decode'>; promptIds: Uint32Array },
): PromptLogprobs[] {
  if (promptLogprobs.length !== promptIds.length || promptLogprobs.some(isMissing)) {
    throw new EngineError('failed', 'the engine has sent a prompt without its log probabilities')
  }
  const texts = withKnownTexts(tokenizer)
  const tokens = promptLogprobs.map(({ logprob, topIds, topLogprobs }, at): PromptLogprob => {
    const id = promptIds[at] ?? 0
    if (logprob === null) return { token: texts.decode([id]), logprob, top: [] }
    const before = Array.from(promptIds.subarray(Math.max(1, at - CONTEXT_IDS), at))
    const toLogprob = (one: number, value = NaN): Logprob => ({
      token: toTokenText(texts, one, before),
      logprob: toBoundedLogprob(value),
    })
    return { ...toLogprob(id, logprob), top: topIds.map((one, index) => toLogprob(one, topLogprobs[index])) }
  })
  return toEvents(tokens)
}

/** Decodes each id once: every token is also the first of its alternatives, and tokens are repeated in a prompt. */
function withKnownTexts(tokenizer: Pick<Tokenizer, 'decode'>): Pick<Tokenizer, 'decode'> {
  const known = new Map<number, string>()
  return {
    decode(ids) {
      const id = ids[0]
      if (id === undefined || ids.length > 1) return tokenizer.decode(ids)
      const text = known.get(id) ?? tokenizer.decode(ids)
      known.set(id, text)
      return text
    },
  }
}

function toEvents(tokens: readonly PromptLogprob[]): PromptLogprobs[] {
  const listed = 1 + Math.max(0, ...tokens.slice(0, 2).map(({ top }) => top.length))
  const step = Math.max(1, Math.floor(MOST_LISTED_AT_ONCE / listed))
  return Array.from({ length: Math.ceil(tokens.length / step) }, (_, at) => ({
    type: 'prompt-logprobs',
    first: at * step,
    tokens: tokens.slice(at * step, (at + 1) * step),
  }))
}

const isMissing = ({ logprob, ...top }: InputLogprob, at: number) =>
  logprob === null ? at > 0 : isUnknownLogprob({ logprob, ...top })
