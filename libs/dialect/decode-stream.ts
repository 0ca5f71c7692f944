import type { TextStream } from '#libs/tokenizer/decoding/token-decoder.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/**
 * Decodes ids to text one at a time, never half a character. Ids for which `skips` is true add no text, also between
 * the bytes of one character. Ids that have no text add none either: an engine may sample the padding of its output
 * layer.
 */
export function createDecodeStream(
  tokenizer: Pick<Tokenizer, 'openTextStream'>,
  skips: (id: number) => boolean,
): TextStream {
  const stream = tokenizer.openTextStream()
  return { push: (id) => (skips(id) ? '' : stream.push(id)), flush: stream.flush }
}
