import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

export type TokenizedInputs =
  | {
      readonly status: 'tokenized'
      readonly inputs: readonly Uint32Array[]
      readonly tokens: number
      /** Tokens of the longest input. */
      readonly longest: number
    }
  /** The caller's mistake; the reason is public. */
  | { readonly status: 'refused'; readonly reason: string }

export type TokenizeInputs = (
  inputs: readonly string[],
  limits: { contextWindow: number; signal: AbortSignal },
) => Promise<TokenizedInputs>

/**
 * Tokenizes inputs exactly, with the special tokens that the model's tokenizer puts around a separate text. The context
 * window applies to each input. Inputs are tokenized one after the other, so that other generations go on meanwhile.
 * After an abort the result is incomplete and must not be used.
 */
export function createTokenizeInputs(tokenizer: Pick<Tokenizer, 'encodeWhole'>): TokenizeInputs {
  return async (texts, { contextWindow, signal }) => {
    const inputs: Uint32Array[] = []
    let tokens = 0
    let longest = 0
    for (const [index, text] of texts.entries()) {
      if (signal.aborted) break
      const ids = await tokenizer.encodeWhole(text)
      if (ids.length === 0) return refuse(`The input at index ${index} has no text that the model can read.`)
      if (ids.length > contextWindow) {
        return refuse(
          `The input at index ${index} has ${ids.length} tokens; the model's context window is ${contextWindow}.`,
        )
      }
      inputs.push(ids)
      tokens += ids.length
      longest = Math.max(longest, ids.length)
    }
    return { status: 'tokenized', inputs, tokens, longest }
  }
}

function refuse(reason: string): TokenizedInputs {
  return { status: 'refused', reason }
}
