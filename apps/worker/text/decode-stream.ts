import { incompleteTail } from '#libs/text/utf8.ts'
import type { Tokenizer } from '#libs/text/tokenizer.ts'

export type DecodeStream = {
  /** The text that this id completes: often one token's, `''` while a character is unfinished. */
  readonly push: (id: number) => string
  /** What is left of an unfinished character, as U+FFFD. */
  readonly flush: () => string
}

/**
 * Ids to text, one at a time, never half a character. The parts together equal `tokenizer.decode` of all ids
 * that `skips` lets through, however the bytes of a character are spread over tokens; ids without text
 * (padding of the output layer can be sampled) add nothing. Synchronous: this runs once a token.
 */
export function createDecodeStream(
  tokenizer: Pick<Tokenizer, 'tokenText' | 'tokenBytes'>,
  skips: (id: number) => boolean,
): DecodeStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let pending: Uint8Array | null = null
  return {
    push(id) {
      if (skips(id)) return ''
      if (pending === null) {
        const text = tokenizer.tokenText(id)
        if (text !== null) return text
      }
      const bytes = tokenizer.tokenBytes(id)
      if (bytes === null) return ''
      const joined = pending === null ? bytes : join(pending, bytes)
      const whole = joined.length - incompleteTail(joined, joined.length)
      pending = whole === joined.length ? null : joined.subarray(whole)
      return decoder.decode(joined.subarray(0, whole))
    },
    flush() {
      if (pending === null) return ''
      const text = decoder.decode(pending)
      pending = null
      return text
    },
  }
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length)
  joined.set(first)
  joined.set(second, first.length)
  return joined
}
