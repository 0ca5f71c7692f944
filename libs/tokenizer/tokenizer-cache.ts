import { hashTokenizerFiles, type TokenizerFiles } from '#libs/model-files/tokenizer-files.ts'
import type { Tokenizer } from './tokenizer.ts'

/** The tokenizers of a process: equal files, wherever they come from, are one tokenizer. */
export type TokenizerCache = {
  /** Throws what `create` throws; the next one with these files tries again. */
  get(files: TokenizerFiles): Promise<Tokenizer>
  /** Closes all. */
  close(): Promise<void>
}

/** As large as the number of different tokenizers that its owner asks for. */
export function createTokenizerCache(create: (files: TokenizerFiles) => Promise<Tokenizer>): TokenizerCache {
  const tokenizers = new Map<string, Promise<Tokenizer>>()

  async function createOnce(hash: string, files: TokenizerFiles): Promise<Tokenizer> {
    try {
      return await create(files)
    } catch (error) {
      tokenizers.delete(hash)
      throw error
    }
  }

  return {
    async get(files) {
      const hash = hashTokenizerFiles(files)
      const tokenizer = tokenizers.get(hash) ?? createOnce(hash, files)
      tokenizers.set(hash, tokenizer)
      return await tokenizer
    },
    async close() {
      const opened = await Promise.allSettled(tokenizers.values())
      await Promise.all(
        opened.map(async (one) => (one.status === 'fulfilled' ? await one.value.close() : undefined)),
      )
    },
  }
}
