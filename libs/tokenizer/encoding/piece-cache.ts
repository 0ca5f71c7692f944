import { LRUCache } from 'lru-cache'

/** Texts that one tokenizer has encoded, with their ids. */
export type PieceCache = {
  get(text: string): Uint32Array | undefined
  /** `text` is well-formed; the ids must not change any more. */
  set(text: string, ids: Uint32Array): void
}

/** The bytes of a key, a value and their place in the map, beyond the characters and the ids. */
const ENTRY_BYTES = 300
/** A text that takes more than this share of the cache would displace too many others. */
const MOST_OF_CACHE = 1 / 8

/**
 * Keeps texts and ids up to `maxBytes` together; the least recently used texts go first. With 0 it keeps nothing. The
 * texts of a template, system prompts, tools and the earlier turns of a conversation come again and again.
 */
export function createPieceCache(maxBytes: number): PieceCache {
  if (maxBytes === 0) return { get: () => undefined, set() {} }
  const entries = new LRUCache<string, Uint32Array>({
    maxSize: maxBytes,
    maxEntrySize: Math.ceil(maxBytes * MOST_OF_CACHE),
    sizeCalculation: (ids, text) => ENTRY_BYTES + 2 * text.length + ids.byteLength,
  })
  return {
    get: (text) => entries.get(text),
    set(text, ids) {
      // V8 cuts a string by pointing into the whole, so each piece would keep the whole string in memory.
      entries.set(Buffer.from(text).toString(), ids)
    },
  }
}
