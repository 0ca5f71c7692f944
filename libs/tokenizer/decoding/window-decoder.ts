import { incompleteTail } from '../utf8.ts'
import { runDecoderSteps, toByte, type DecoderStep } from './decoder-steps.ts'
import type { TextStream, TokenDecoder } from './token-decoder.ts'

/**
 * Of a vocabulary whose tokens read differently where a text begins and beside other tokens (Metaspace, byte fallback,
 * WordPiece). A stream decodes a window of the last tokens, whose beginning is known text, and gives what is new.
 *
 * The parts of a stream together are the text that all its ids have behind another word, with one difference: where
 * bytes are no UTF-8, `decode` has U+FFFD for each byte of the whole run, the whole characters among them included; a
 * stream has given those already.
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

    function give(count: number): string {
      const ready = pending.slice(0, count)
      pending = pending.slice(count)
      const text = runDecoderSteps(steps, [...known, ...ready]).slice(knownText.length)
      const last = ready.at(-1)
      // Bytes that come are no part of the bytes that were given.
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
        return unfinished === pending.length ? '' : give(pending.length - unfinished)
      },
      flush: () => (pending.length === 0 ? '' : give(pending.length)),
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

/** What every text follows. A noncharacter, which no step changes and no token holds. */
const WORD = '\uFDD0'

/** How many tokens at the end are bytes of a character that may still be finished: 0 to 3. */
function unfinishedBytes(tokens: readonly string[]): number {
  const bytes: number[] = []
  for (const token of tokens.slice(-3).reverse()) {
    const byte = toByte(token)
    if (byte === null) break
    bytes.unshift(byte)
  }
  return incompleteTail(Uint8Array.from(bytes), bytes.length)
}
