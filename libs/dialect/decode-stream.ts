import type { TextStream } from '#libs/tokenizer/decoding/token-decoder.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/**
 * Decodes ids to text one at a time, and returns a character only when it is complete. An id for which `skips` is true
 * adds no text, even between the ids of one character's bytes. An id that has no text adds none either: an engine may
 * sample such an id from the padding of its output layer.
 */
export function createDecodeStream(
  tokenizer: Pick<Tokenizer, 'openTextStream'>,
  skips: (id: number) => boolean,
): TextStream {
  const stream = tokenizer.openTextStream()
  return { push: (id) => (skips(id) ? '' : stream.push(id)), flush: stream.flush }
}
