import { createByteDecoder } from './decoding/byte-decoder.ts'
import { parseDecoderSteps } from './decoding/decoder-steps.ts'
import type { TextStream, TokenDecoder } from './decoding/token-decoder.ts'
import { createWindowDecoder } from './decoding/window-decoder.ts'
import { createEncodePieces, type NoteEncoded } from './encoding/encode-pieces.ts'
import type { Encoder } from './encoding/encoder.ts'
import { openNativeEncoder } from './encoding/native-encoder.ts'
import { openPlainEncoder, type PlainEncoder } from './encoding/plain-encoder.ts'
import { createPieceCache, type PieceCache } from './encoding/piece-cache.ts'
import { parseTokenizerFile, type TokenizerFile } from './tokenizer-file.ts'

/** Converts text to token ids and back, as a tokenizer.json describes it. */
export type Tokenizer = {
  /** Encodes a text without adding special tokens; special tokens written in the text become their ids. */
  encode(text: string): Promise<Uint32Array>
  /** Encodes a complete text, with the special tokens that the post-processor puts around it, as for embeddings. */
  encodeWhole(text: string): Promise<Uint32Array>
  /** Encodes pieces independently and concatenates their ids: no token spans the end of a piece. */
  encodePieces(pieces: readonly string[]): Promise<Uint32Array>
  /** Decodes ids, special tokens included. Unknown ids add nothing; invalid UTF-8 becomes U+FFFD. */
  decode(ids: ArrayLike<number>): string
  /** Decodes ids one by one, as the continuation of other text. */
  openTextStream(): TextStream
  /** One more than the highest id that has a text. */
  readonly vocabularySize: number
  /** The id of the token with exactly this text, or null. */
  tokenId(token: string): number | null
  /** True for tokens flagged special (`<|im_end|>`), false for added tokens that are text (`<think>`). */
  isSpecial(id: number): boolean
  readonly addedTokens: readonly AddedToken[]
}

/** A token that a tokenizer recognizes by its text, wherever it stands: `<|im_start|>`, `<think>`. */
export type AddedToken = {
  readonly id: number
  readonly text: string
  readonly special: boolean
  /**
   * True for the unknown token. The tokenizer writes this token's id for each character that the vocabulary lacks, so
   * the id in a prompt may come from plain text.
   */
  readonly isUnknown?: boolean
}

/**
 * Creates the tokenizer that a tokenizer.json describes. Throws if the file has another shape than Hugging Face
 * documents, or needs an unsupported step. `cache` keeps the ids of pieces, and must not be shared with another
 * tokenizer; without it, none are kept. `wrapEncoder` receives the encoder of this file and returns the encoder to use,
 * which must return the same ids.
 */
export async function createTokenizer(
  json: string,
  options: {
    readonly cache?: PieceCache
    readonly note?: NoteEncoded
    readonly wrapEncoder?: (encoder: Encoder, json: string) => Encoder
  } = {},
): Promise<Tokenizer> {
  const file = readTokenizerFile(json)
  // The tokenizer must not keep `file`, which has all merges.
  const { tokens, addedTokens, unknownId } = file
  const decoder = createDecoder(file)
  const native = await openNativeEncoder(file)
  const plain = await openPlainEncoder(file, native)
  const encoder = withPlainTexts(plain, options.wrapEncoder?.(native, json) ?? native)
  // A vocabulary may have ids without a token, which `map` would leave out.
  const ids = new Map(Array.from(tokens, (token, id) => [token, id]))
  const special = new Set(addedTokens.filter((token) => token.special).map((token) => token.id))
  const encodePieces = createEncodePieces({
    file,
    encoder,
    cache: options.cache ?? createPieceCache(0),
    note: options.note ?? (() => {}),
  })

  const encodeOne = async (text: string, whole: boolean) => {
    const [encoded] = await encoder.encode([text], { whole })
    return encoded ?? new Uint32Array(0)
  }

  return {
    encode: async (text) => await encodeOne(text, false),
    encodeWhole: async (text) => await encodeOne(text, true),
    encodePieces,
    decode: decoder.decode,
    openTextStream: decoder.stream,
    vocabularySize: tokens.length,
    tokenId: (token) => ids.get(token) ?? null,
    isSpecial: (id) => special.has(id),
    addedTokens: addedTokens.map((token) => ({
      id: token.id,
      text: token.content,
      special: token.special,
      isUnknown: token.id === unknownId,
    })),
  }
}

/** Encodes plain texts with `plain`, and all others with `encoder`. */
function withPlainTexts(plain: PlainEncoder | null, encoder: Encoder): Encoder {
  if (plain === null) return encoder
  return {
    encode: async (texts, options) =>
      (options.whole ? null : plain(texts)) ?? (await encoder.encode(texts, options)),
  }
}

function readTokenizerFile(json: string): TokenizerFile {
  try {
    return parseTokenizerFile(json)
  } catch (error) {
    throw new Error('tokenizer.json cannot be used', { cause: error })
  }
}

/** Byte-level vocabularies are decoded by a table, all others by a window of tokens. */
function createDecoder({ decoder, tokens }: TokenizerFile): TokenDecoder {
  const steps = parseDecoderSteps(decoder)
  if (!steps.some((step) => step.type === 'ByteLevel')) return createWindowDecoder(tokens, steps)
  if (steps.every((step) => step.type === 'ByteLevel')) return createByteDecoder(tokens)
  const types = steps.map((step) => step.type).join(' + ')
  throw new Error(`its decoder is byte-level only in part (${types}), which is not supported`)
}
