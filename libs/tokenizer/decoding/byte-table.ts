import { BYTE_OF_CHARACTER } from '../byte-alphabet.ts'
import { incompleteTail } from '../utf8.ts'

/**
 * Maps the ids of a byte-level BPE vocabulary to bytes, in one block of memory: a vocabulary of 200,000 tokens takes a
 * few megabytes instead of an object per token.
 */
export type ByteTable = {
  /** One more than the highest id. */
  readonly size: number
  /** A view of the table; null when the id is unknown. */
  readonly bytes: (id: number) => Uint8Array | null
  /**
   * Returns the text of a token: `''` if the id is unknown, null if the token's bytes are not complete UTF-8
   * characters.
   */
  readonly text: (id: number) => string | null
  /** The bytes of all ids; unknown ids add nothing. */
  readonly concat: (ids: ArrayLike<number>) => Uint8Array
}

export function createByteTable(tokens: readonly (string | undefined)[]): ByteTable {
  const size = tokens.length
  const starts = new Uint32Array(size + 1)
  const encoded = Array.from(tokens, (token) => (token === undefined ? EMPTY : toBytes(token)))
  encoded.forEach((bytes, id) => {
    starts[id + 1] = (starts[id] ?? 0) + bytes.length
  })
  const block = new Uint8Array(starts[size] ?? 0)
  encoded.forEach((bytes, id) => block.set(bytes, starts[id]))

  const known = Uint8Array.from(tokens, (token) => (token === undefined ? 0 : 1))
  /** Filled on first use, because most of a vocabulary never appears. */
  const texts: (string | null | undefined)[] = Array.from({ length: size })
  const view = (id: number) => block.subarray(starts[id], starts[id + 1])

  return {
    size,
    bytes: (id) => (known[id] === 1 ? view(id) : null),
    text(id) {
      if (known[id] !== 1) return ''
      const cached = texts[id]
      if (cached !== undefined) return cached
      return (texts[id] = wholeText(view(id)))
    },
    concat(ids) {
      let length = 0
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i] ?? -1
        if (known[id] === 1) length += (starts[id + 1] ?? 0) - (starts[id] ?? 0)
      }
      const bytes = new Uint8Array(length)
      let at = 0
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i] ?? -1
        if (known[id] !== 1) continue
        const end = starts[id + 1] ?? 0
        for (let from = starts[id] ?? 0; from < end; from++) bytes[at++] = block[from] ?? 0
      }
      return bytes
    },
  }
}

const EMPTY = new Uint8Array(0)
const encoder = new TextEncoder()
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function wholeText(bytes: Uint8Array): string | null {
  if (incompleteTail(bytes, bytes.length) > 0) return null
  try {
    return strict.decode(bytes)
  } catch {
    return null
  }
}

/**
 * Returns the bytes of a token, as Hugging Face's ByteLevel decoder does. If all characters of the token are in the
 * byte alphabet, each stands for one byte. Any other token, such as most added tokens, is a plain text, and its bytes
 * are its UTF-8.
 */
function toBytes(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length)
  let length = 0
  for (const character of token) {
    const byte = BYTE_OF_CHARACTER.get(character)
    if (byte === undefined) return encoder.encode(token)
    bytes[length++] = byte
  }
  return bytes.subarray(0, length)
}
