import { LRUCache } from 'lru-cache'

/** Texts that one tokenizer has encoded, with their ids. */
export type PieceCache = {
  get(text: string): Uint32Array | undefined
  /** `text` is well-formed; the ids must not change any more. */
  set(text: string, ids: Uint32Array): void
}

/** The memory that an entry takes besides its characters and its ids, in bytes. */
const ENTRY_BYTES = 300
/** A text that takes more than this share of the cache would displace too many others. */
const MOST_OF_CACHE = 1 / 8

/**
 * Creates a cache of the token ids of texts. It saves work because many prompts have texts in common: the texts of a
 * template, system prompts, tools and the earlier turns of a conversation. Its entries take at most `maxBytes`
 * together; the least recently used entry is removed first. A cache with `maxBytes` 0 stores nothing.
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
      // The key is a copy. In V8 a part of a string refers to the whole string, so it would keep the whole string in
      // memory.
      entries.set(Buffer.from(text).toString(), ids)
    },
  }
}
