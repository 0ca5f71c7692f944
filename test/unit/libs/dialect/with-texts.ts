import type { TextStream } from '#libs/tokenizer/decoding/token-decoder.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/** A tokenizer's text stream with additional tokens. */
export function withTexts(tokenizer: Tokenizer, textOf: (id: number) => string | undefined): TextStream {
  const stream = tokenizer.openTextStream()
  return { push: (id) => textOf(id) ?? stream.push(id), flush: stream.flush }
}

/** The first id of additional tokens. */
export const FIRST_MARKER = 10_000
