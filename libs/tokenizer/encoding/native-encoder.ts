import type { TokenizerFile } from '../tokenizer-file.ts'
import type { Encoder } from './encoder.ts'

/**
 * Hugging Face's own library, which encodes on threads of its own. Throws a NativeUnavailableError where there is no
 * build of it for this platform, and an ordinary one for a tokenizer.json that it cannot use, or whose control tokens
 * it numbers otherwise than the file does.
 */
export async function openNativeEncoder(file: TokenizerFile): Promise<Encoder> {
  const { Tokenizer } = await loadLibrary()
  const native = Tokenizer.fromString(file.json)
  native.disableTruncation()
  native.disablePadding()
  for (const { id, content } of file.addedTokens) {
    const own = native.tokenToId(content)
    if (own !== id) throw new Error(`the token ${content} is ${own} to the library, ${id} in the file`)
  }
  return {
    name: 'native',
    async encode(texts, { whole }) {
      if (texts.length === 0) return []
      const wellFormed = texts.map((text) => text.toWellFormed())
      const encodings = await native.encodeBatch(wellFormed, { addSpecialTokens: whole })
      return encodings.map((encoding) => Uint32Array.from(encoding.getIds()))
    },
    close: async () => {},
  }
}

export class NativeUnavailableError extends Error {
  constructor(cause: unknown) {
    super('the native tokenizers library cannot be loaded', { cause })
    this.name = 'NativeUnavailableError'
  }
}

async function loadLibrary() {
  try {
    return await import('tokenizers')
  } catch (error) {
    throw new NativeUnavailableError(error)
  }
}
