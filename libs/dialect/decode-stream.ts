import type { TextStream } from '#libs/tokenizer/decoding/token-decoder.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/**
 * Decodes token ids to text one at a time, and returns a character only when it is complete. An id for which `skips` is
 * true is ignored. It may stand between two ids that make one character together, and the character is still complete.
 * An id that has no text adds no text: an engine may sample such an id from the padding of its output layer.
 */
export function createDecodeStream(
  tokenizer: Pick<Tokenizer, 'openTextStream'>,
  skips: (id: number) => boolean,
): TextStream {
  const stream = tokenizer.openTextStream()
  return { push: (id) => (skips(id) ? '' : stream.push(id)), flush: stream.flush }
}
