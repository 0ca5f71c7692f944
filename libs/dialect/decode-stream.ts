import type { TextStream } from '#libs/tokenizer/decoding/token-decoder.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/**
 * Decodes ids to text one at a time, never half a character. Ids for which `skips` is true add no text, also between
 * the bytes of one character; nor do ids without text (padding of the output layer can be sampled).
 */
export function createDecodeStream(
  tokenizer: Pick<Tokenizer, 'openTextStream'>,
  skips: (id: number) => boolean,
): TextStream {
  const stream = tokenizer.openTextStream()
  return { push: (id) => (skips(id) ? '' : stream.push(id)), flush: stream.flush }
}
