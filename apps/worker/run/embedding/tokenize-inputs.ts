import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import type { GenerationError } from '#libs/contracts/generation-event.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

export type TokenizedInputs =
  | {
      readonly status: 'tokenized'
      readonly inputs: readonly Uint32Array[]
      readonly tokens: number
      /** Tokens of the longest input. */
      readonly longest: number
    }
  /** The caller's mistake; the error is public. */
  | { readonly status: 'refused'; readonly error: Omit<GenerationError, 'type'> }

export type TokenizeInputs = (
  inputs: readonly string[],
  limits: { contextWindow: number; signal: AbortSignal },
) => Promise<TokenizedInputs>

/**
 * Tokenizes inputs, with the special tokens that the model's tokenizer puts around a separate text. The context window
 * applies to each input. Inputs are tokenized one after the other, so that other generations go on meanwhile. After an
 * abort the result is incomplete and must not be used.
 */
export function createTokenizeInputs(tokenizer: Pick<Tokenizer, 'encodeWhole'>): TokenizeInputs {
  return async (texts, { contextWindow, signal }) => {
    const inputs: Uint32Array[] = []
    let tokens = 0
    let longest = 0
    for (const [index, text] of texts.entries()) {
      if (signal.aborted) break
      const ids = await tokenizer.encodeWhole(text)
      if (ids.length === 0) {
        const message = `The input at index ${index} has no text that the model can read.`
        return { status: 'refused', error: { code: 'invalid_request', message } }
      }
      if (ids.length > contextWindow) {
        const overflow = { contextWindow, subject: `input at index ${index}`, tokens: ids.length }
        const error = { code: 'context_length_exceeded', message: toOverflowMessage(overflow) } as const
        return { status: 'refused', error }
      }
      inputs.push(ids)
      tokens += ids.length
      longest = Math.max(longest, ids.length)
    }
    return { status: 'tokenized', inputs, tokens, longest }
  }
}
