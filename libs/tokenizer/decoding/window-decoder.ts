import { incompleteTail } from '../utf8.ts'
import { runDecoderSteps, toByte, type DecoderStep } from './decoder-steps.ts'
import type { TextStream, TokenDecoder } from './token-decoder.ts'

/**
 * A decoder for vocabularies in which a token's text depends on its place: at the beginning, or beside other tokens
 * (Metaspace, byte fallback, WordPiece). A stream puts a fixed word and the previous token before each new token,
 * decodes the three together, and removes the text of the word and of the previous token from the result. If the
 * previous token is a single byte, the stream puts only the fixed word before the new token.
 *
 * The concatenated parts of a stream equal the text of all its ids, decoded together after the fixed word. So the first
 * token of a stream is not decoded as the beginning of a text. The only exception is a run of bytes that is not valid
 * UTF-8. If the ids are decoded together, every byte of the run is replaced by U+FFFD, also the bytes of complete
 * characters. A stream does not replace these characters, because it has returned them already.
 */
export function createWindowDecoder(
  tokens: readonly (string | undefined)[],
  steps: readonly DecoderStep[],
): TokenDecoder {
  const fallsBack = steps.some(({ type }) => type === 'ByteFallback')

  function stream(): TextStream {
    let known: readonly string[] = [WORD]
    let knownText = runDecoderSteps(steps, known)
    let pending: string[] = []

    function take(count: number): string {
      const ready = pending.slice(0, count)
      pending = pending.slice(count)
      const text = runDecoderSteps(steps, [...known, ...ready]).slice(knownText.length)
      const last = ready.at(-1)
      // Later bytes do not belong to a run whose text was returned.
      known = last === undefined || (fallsBack && toByte(last) !== null) ? [WORD] : [WORD, last]
      knownText = runDecoderSteps(steps, known)
      return text
    }

    return {
      push(id) {
        const token = tokens[id]
        if (token === undefined) return ''
        pending.push(token)
        const unfinished = fallsBack ? unfinishedBytes(pending) : 0
        return unfinished === pending.length ? '' : take(pending.length - unfinished)
      },
      flush: () => (pending.length === 0 ? '' : take(pending.length)),
    }
  }

  return {
    decode(ids) {
      const known = Array.from(ids, (id) => tokens[id]).filter((token) => token !== undefined)
      return runDecoderSteps(steps, known)
    },
    stream,
  }
}

/** Precedes every window. A noncharacter, which no step changes and no token contains. */
const WORD = '\uFDD0'

/** Returns the number of tokens at the end that are bytes of an incomplete character: 0 to 3. */
function unfinishedBytes(tokens: readonly string[]): number {
  const bytes: number[] = []
  for (const token of tokens.slice(-3).reverse()) {
    const byte = toByte(token)
    if (byte === null) break
    bytes.unshift(byte)
  }
  return incompleteTail(Uint8Array.from(bytes), bytes.length)
}
