import type { SamplingDefaults } from '#libs/dialect/family.ts'
import { readTokenizerFolder, type TokenizerFiles } from '#libs/model-files/tokenizer-files.ts'
import { createByteDecoder } from './decoding/byte-decoder.ts'
import { parseDecoderSteps } from './decoding/decoder-steps.ts'
import type { TextStream, TokenDecoder } from './decoding/token-decoder.ts'
import { createWindowDecoder } from './decoding/window-decoder.ts'
import type { Encoder } from './encoding/encoder.ts'
import { openNativeEncoder } from './encoding/native-encoder.ts'
import { readModelSettings } from '#libs/model-files/model-settings.ts'
import type { AddedToken } from '#libs/chat-template/token-guard.ts'
import { parseTokenizerFile, type TokenizerFile } from './tokenizer-file.ts'

export type Tokenizer = {
  readonly encoder: Encoder['name']
  /** Text to ids, without adding special tokens; special tokens written in the text become their ids. */
  encode(text: string): Promise<Uint32Array>
  /** A text by itself, with the special tokens that the model's own tokenizer puts around one: what embeds. */
  encodeWhole(text: string): Promise<Uint32Array>
  /** The ids of each piece by itself, one after the other: no token reaches over the ends of a piece. */
  encodePieces(pieces: readonly string[]): Promise<Uint32Array>
  /** Ids to text, special tokens kept. Unknown ids are nothing; bytes that are no UTF-8 become U+FFFD. */
  decode(ids: ArrayLike<number>): string
  /** Ids to text one by one, as they stand behind other text. */
  openTextStream(): TextStream
  /** One more than the highest id that has a text. */
  readonly vocabularySize: number
  /** The size of the model's output layer (config.json): never below `vocabularySize`, often padded above it. */
  readonly paddedVocabularySize: number
  /** The id of a token that is written exactly like this, or null. */
  tokenId(token: string): number | null
  /** True for tokens flagged special (`<|im_end|>`), false for added ones that are text (`<think>`). */
  isSpecial(id: number): boolean
  /** The tokens that are recognised by their text, special or not. */
  readonly addedTokens: readonly AddedToken[]
  /** Ids that end a turn by the model's own files: tokenizer_config.json, config.json and generation_config.json together. */
  readonly eosIds: ReadonlySet<number>
  /** What the model's owner recommends: absent fields are neutral; null without a generation_config.json. */
  readonly samplingDefaults: SamplingDefaults | null
  /** Jinja source; null when the model has none, as embedding models often do. */
  readonly chatTemplate: string | null
  /** What some models have instead for chats with tools. */
  readonly toolTemplate: string | null
  /** Variables that chat templates may name: `bos_token`, `eos_token`, … */
  readonly specialTokens: Readonly<Record<string, string>>
  close(): Promise<void>
}

export type OpenEncoder = (file: TokenizerFile) => Promise<Encoder>

/** As `createTokenizer`, from a model's folder. */
export async function loadTokenizer(folder: string, open?: OpenEncoder): Promise<Tokenizer> {
  const files = await readTokenizerFolder(folder)
  try {
    return await createTokenizer(files, open)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new Error(`the tokenizer in ${folder} cannot be used: ${problem}`, { cause: error })
  }
}

/**
 * The tokenizer that a model's files describe: tokenizer.json, and what there is of the others. Throws an error that
 * names the file which has another shape than Hugging Face documents, or what we cannot do as the file wants it.
 */
export async function createTokenizer(
  files: TokenizerFiles,
  open: OpenEncoder = openNativeEncoder,
): Promise<Tokenizer> {
  const file = readTokenizerFile(files)
  const { tokens, addedTokens } = file
  const settings = readModelSettings(files)
  const decoder = createDecoder(file)
  const encoder = await open(file)
  const ids = new Map(tokens.map((token, id) => [token, id]))
  const tokenId = (token: string) => ids.get(token) ?? null
  const special = new Set(addedTokens.filter((token) => token.special).map((token) => token.id))
  const eosId = tokenId(settings.specialTokens['eos_token'] ?? '')
  const leader = file.prependsFirst ? findLeader(file) : ''

  const encodeOne = async (text: string, whole: boolean) => {
    const [encoded] = await encoder.encode([text], { whole })
    return encoded ?? new Uint32Array(0)
  }

  return {
    encoder: encoder.name,
    encode: async (text) => await encodeOne(text, false),
    encodeWhole: async (text) => await encodeOne(text, true),
    async encodePieces(pieces) {
      const texts = pieces
        .filter((piece) => piece !== '')
        .map((piece, i) => (i === 0 ? piece : leader + piece))
      // A text that is torn a hundred thousand times consists of few different pieces.
      const different = Array.from(new Set(texts))
      const encoded = await encoder.encode(different, { whole: false })
      const idsOf = new Map(different.map((text, i) => [text, encoded[i] ?? new Uint32Array(0)]))
      return concat(
        texts.map((text, i) =>
          (idsOf.get(text) ?? new Uint32Array(0)).subarray(i > 0 && leader !== '' ? 1 : 0),
        ),
      )
    },
    decode: decoder.decode,
    openTextStream: decoder.stream,
    vocabularySize: tokens.length,
    paddedVocabularySize: Math.max(tokens.length, settings.vocabularySize),
    tokenId,
    isSpecial: (id) => special.has(id),
    addedTokens: addedTokens.map((token) => ({
      id: token.id,
      text: token.content,
      special: token.special,
      standsForText: token.id === file.unknownId,
    })),
    eosIds: new Set([...(eosId === null ? [] : [eosId]), ...settings.eosIds]),
    samplingDefaults: settings.samplingDefaults,
    chatTemplate: settings.chatTemplate,
    toolTemplate: settings.toolTemplate,
    specialTokens: settings.specialTokens,
    close: encoder.close,
  }
}

function readTokenizerFile(files: TokenizerFiles): TokenizerFile {
  const data = files.get('tokenizer.json')
  if (data === undefined) throw new Error('there is no tokenizer.json')
  try {
    return parseTokenizerFile(data.toString('utf8'))
  } catch (error) {
    throw new Error('tokenizer.json cannot be used', { cause: error })
  }
}

/** Byte-level vocabularies by a table, all others by a window. */
function createDecoder({ decoder, tokens }: TokenizerFile): TokenDecoder {
  const steps = parseDecoderSteps(decoder)
  if (!steps.some((step) => step.type === 'ByteLevel')) return createWindowDecoder(tokens, steps)
  if (steps.every((step) => step.type === 'ByteLevel')) return createByteDecoder(tokens)
  const types = steps.map((step) => step.type).join(' + ')
  throw new Error(`its decoder is byte-level only in part (${types}), which is not supported`)
}

/**
 * A control token, which is put before a piece that is not the first, and taken off again: some tokenizers put a blank
 * before the beginning of a text, and none behind a control token. `''` when there is none of use.
 */
function findLeader({ addedTokens }: TokenizerFile): string {
  return addedTokens.find((token) => token.special && !token.rstrip && !token.normalized)?.content ?? ''
}

function concat(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
