import { createHash } from 'node:crypto'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

type CreateTokenizer = (json: string) => Promise<Tokenizer>

/**
 * Creates one tokenizer for equal files, wherever they come from: the models and engines of a process share it. The
 * cache evicts nothing, because it contains no more tokenizers than the process serves models. A failed creation is not
 * cached.
 */
export function createTokenizerCache(create: CreateTokenizer): CreateTokenizer {
  const tokenizers = new Map<string, Promise<Tokenizer>>()

  async function createOnce(hash: string, json: string): Promise<Tokenizer> {
    try {
      return await create(json)
    } catch (error) {
      tokenizers.delete(hash)
      throw error
    }
  }

  return async (json) => {
    const hash = createHash('sha256').update(json).digest('hex')
    const tokenizer = tokenizers.get(hash) ?? createOnce(hash, json)
    tokenizers.set(hash, tokenizer)
    return await tokenizer
  }
}
