import { setImmediate } from 'node:timers/promises'
import type { TokenizerFile } from '../tokenizer-file.ts'
import type { Encoder } from './encoder.ts'

/**
 * An encoder over Hugging Face's native library, which encodes on its own threads. Throws for a tokenizer.json that
 * the library cannot use, or whose added tokens have other ids in the library than in the file.
 */
export async function openNativeEncoder(file: Pick<TokenizerFile, 'json' | 'addedTokens'>): Promise<Encoder> {
  const { Tokenizer } = await loadNativeLibrary()
  const native = Tokenizer.fromString(file.json)
  native.disableTruncation()
  native.disablePadding()
  for (const { id, content } of file.addedTokens) {
    const own = native.tokenToId(content)
    if (own !== id) throw new Error(`the token ${content} is ${own} in the library, ${id} in the file`)
  }
  return {
    async encode(texts, { whole }) {
      if (texts.length === 0) return []
      const wellFormed = texts.map((text) => text.toWellFormed())
      const encodings = await native.encodeBatch(wellFormed, { addSpecialTokens: whole })
      const all: Uint32Array[] = []
      for (const encoding of encodings) {
        const ids = encoding.getIds()
        // 100,000 ids take several ms to read and several to copy.
        if (ids.length > LONG_IDS) await setImmediate()
        all.push(Uint32Array.from(ids))
        if (ids.length > LONG_IDS) await setImmediate()
      }
      return all
    },
  }
}

/**
 * If a text has more ids than this, the event loop handles other events after the ids are read, and again after they
 * are copied.
 */
const LONG_IDS = 16_384

/** Loads the library. Throws if it has no build for this platform, or if its installed build cannot be loaded. */
export async function loadNativeLibrary() {
  try {
    return await import('tokenizers')
  } catch (cause) {
    throw new Error(
      `the native tokenizers library cannot be loaded on ${process.platform}-${process.arch}: ` +
        'use Linux on x64 or arm64, and install the packages again with npm ci',
      { cause },
    )
  }
}
