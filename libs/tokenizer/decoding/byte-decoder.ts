import { incompleteTail } from '../utf8.ts'
import { createByteTable } from './byte-table.ts'
import type { TokenDecoder } from './token-decoder.ts'

/**
 * A decoder for byte-level vocabularies, in which a token always stands for the same bytes. The concatenated parts of a
 * stream equal `decode` of all its ids, also if the bytes of a character are spread over several ids.
 */
export function createByteDecoder(tokens: readonly (string | undefined)[]): TokenDecoder {
  const table = createByteTable(tokens)
  const whole = new TextDecoder('utf-8', { ignoreBOM: true })

  function stream() {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    let pending: Uint8Array | null = null
    return {
      push(id: number) {
        if (pending === null) {
          const text = table.text(id)
          if (text !== null) return text
        }
        const bytes = table.bytes(id)
        if (bytes === null) return ''
        const joined = pending === null ? bytes : join(pending, bytes)
        const complete = joined.length - incompleteTail(joined, joined.length)
        pending = complete === joined.length ? null : joined.subarray(complete)
        return decoder.decode(joined.subarray(0, complete))
      },
      flush() {
        if (pending === null) return ''
        const text = decoder.decode(pending)
        pending = null
        return text
      },
    }
  }

  return { decode: (ids) => whole.decode(table.concat(ids)), stream }
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length)
  joined.set(first)
  joined.set(second, first.length)
  return joined
}
