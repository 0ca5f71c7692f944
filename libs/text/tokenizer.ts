import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Tokenizer as NativeTokenizer } from 'tokenizers'
import { z } from 'zod'
import { createByteTable } from './byte-table.ts'
import type { AddedToken } from './token-guard.ts'

type SamplingDefaults = {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly minP?: number
  readonly repetitionPenalty?: number
}

export type Tokenizer = {
  /** Text to ids, without adding special tokens; special tokens written in the text become their ids. */
  encode(text: string): Promise<Uint32Array>
  /** A text by itself, with the special tokens that the model's own tokenizer puts around one: what embeds. */
  encodeWhole(text: string): Promise<Uint32Array>
  /** The ids of each piece by itself, one after the other. */
  encodePieces(pieces: readonly string[]): Promise<Uint32Array>
  /** Ids to text, special tokens kept. Unknown ids are nothing; bytes that are no UTF-8 become U+FFFD. */
  decode(ids: ArrayLike<number>): string
  /** One more than the highest id that has a text. */
  readonly vocabularySize: number
  /** The size of the model's output layer (config.json): never below `vocabularySize`, often padded above it. */
  readonly paddedVocabularySize: number
  /** A view, not to be written to; null when the id is unknown. */
  tokenBytes(id: number): Uint8Array | null
  /** The token's text; `''` when the id is unknown, null when its bytes alone are not whole characters. */
  tokenText(id: number): string | null
  /** The id of a token that is written exactly like this, or null. */
  tokenId(token: string): number | null
  /** True for tokens flagged special (`<|im_end|>`), false for added ones that are text (`<think>`). */
  isSpecial(id: number): boolean
  /** The tokens that are recognised by their text, special or not. */
  readonly addedTokens: readonly AddedToken[]
  /** Every id that ends a generation: tokenizer_config.json, config.json and generation_config.json together. */
  readonly eosIds: ReadonlySet<number>
  /** What the model's owner recommends (generation_config.json); absent fields are neutral. */
  readonly samplingDefaults: SamplingDefaults
  /** Jinja source; null when the model has none, as embedding models often do. */
  readonly chatTemplate: string | null
  /** Variables that chat templates may name: `bos_token`, `eos_token`, … */
  readonly specialTokens: Readonly<Record<string, string>>
}

/**
 * Loads the tokenizer of a model folder: tokenizer.json, and where they exist tokenizer_config.json,
 * config.json, generation_config.json, chat_template.jinja. Throws when tokenizer.json is missing, a file has
 * another shape than Hugging Face documents, or the tokenizer is not byte-level BPE: only there is a token's
 * text a fixed string of bytes, on which the incremental decoder depends.
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const path = (name: string) => join(folder, name)
  const [tokenizerText, tokenizerConfig, config, generation, templateText] = await Promise.all([
    readFile(path('tokenizer.json'), 'utf8'),
    readSettings(TokenizerConfig, path('tokenizer_config.json')),
    readSettings(ModelConfig, path('config.json')),
    readSettings(GenerationConfig, path('generation_config.json')),
    readOptional(path('chat_template.jinja')),
  ])
  const file = parseJson(TokenizerFile, path('tokenizer.json'), tokenizerText)
  assertByteLevel(file, folder)

  const native = NativeTokenizer.fromString(tokenizerText)
  native.disableTruncation()
  native.disablePadding()
  const table = createByteTable(native.getVocab(true))
  const special = new Set(file.added_tokens.filter((token) => token.special).map((token) => token.id))
  const specialTokens = namedSpecialTokens(tokenizerConfig)
  const eosToken = specialTokens['eos_token']
  const tokenizerEos = eosToken === undefined ? null : native.tokenToId(eosToken)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  return {
    async encode(text) {
      if (text === '') return new Uint32Array(0)
      const encoding = await native.encode(text, null, { addSpecialTokens: false })
      return Uint32Array.from(encoding.getIds())
    },
    async encodeWhole(text) {
      return Uint32Array.from((await native.encode(text, null, { addSpecialTokens: true })).getIds())
    },
    async encodePieces(pieces) {
      // A text that is torn a hundred thousand times consists of few different pieces.
      const different = Array.from(new Set(pieces.filter((piece) => piece !== '')))
      if (different.length === 0) return new Uint32Array(0)
      const encodings = await native.encodeBatch(different, { addSpecialTokens: false })
      const idsOf = new Map(different.map((piece, i) => [piece, encodings[i]?.getIds() ?? []]))
      return Uint32Array.from(pieces.flatMap((piece) => idsOf.get(piece) ?? []))
    },
    decode: (ids) => decoder.decode(table.concat(ids)),
    vocabularySize: table.size,
    paddedVocabularySize: Math.max(table.size, config.vocab_size ?? 0),
    tokenBytes: table.bytes,
    tokenText: table.text,
    tokenId: (token) => native.tokenToId(token),
    isSpecial: (id) => special.has(id),
    addedTokens: file.added_tokens.map((token) => ({
      id: token.id,
      text: token.content,
      special: token.special,
    })),
    eosIds: new Set([
      ...(tokenizerEos === null ? [] : [tokenizerEos]),
      ...toList(config.eos_token_id),
      ...toList(generation.eos_token_id),
    ]),
    samplingDefaults: generation.do_sample === false ? {} : toSamplingDefaults(generation),
    chatTemplate: templateText ?? defaultTemplate(tokenizerConfig),
    specialTokens,
  }
}

const TokenizerFile = z.object({
  model: z.object({ type: z.string().optional(), byte_fallback: z.boolean().nullish() }),
  decoder: z
    .object({ type: z.string(), decoders: z.array(z.object({ type: z.string() })).optional() })
    .nullable(),
  added_tokens: z.array(z.object({ id: z.int(), content: z.string(), special: z.boolean() })).default([]),
})

/** Either the text itself or Hugging Face's AddedToken object. */
const TokenText = z.union([z.string(), z.object({ content: z.string() }).transform((token) => token.content)])

const TokenizerConfig = z.object({
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish(),
  bos_token: TokenText.nullish(),
  eos_token: TokenText.nullish(),
  pad_token: TokenText.nullish(),
  unk_token: TokenText.nullish(),
})

const EosIds = z.union([z.int(), z.array(z.int())]).nullish()

const ModelConfig = z.object({ vocab_size: z.int().nullish(), eos_token_id: EosIds })

const GenerationConfig = z.object({
  do_sample: z.boolean().nullish(),
  eos_token_id: EosIds,
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  min_p: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
})

function assertByteLevel(file: z.infer<typeof TokenizerFile>, folder: string): void {
  const decoders = file.decoder?.decoders?.map((decoder) => decoder.type) ?? [file.decoder?.type ?? 'none']
  const byteLevel = decoders.length > 0 && decoders.every((type) => type === 'ByteLevel')
  if (byteLevel && (file.model.type ?? 'BPE') === 'BPE' && file.model.byte_fallback !== true) return
  throw new Error(
    `the tokenizer in ${folder} is not byte-level BPE ` +
      `(model ${file.model.type ?? 'unnamed'}, decoder ${decoders.join(' + ')}); only byte-level BPE is supported`,
  )
}

/** Of several named templates the one called `default` is for chats; `tool_use` variants fold into it nowadays. */
function defaultTemplate({ chat_template: template }: z.infer<typeof TokenizerConfig>): string | null {
  if (template === undefined || template === null) return null
  if (typeof template === 'string') return template
  return template.find((entry) => entry.name === 'default')?.template ?? null
}

function namedSpecialTokens(config: z.infer<typeof TokenizerConfig>): Record<string, string> {
  const tokens: Record<string, string> = {}
  for (const name of ['bos_token', 'eos_token', 'pad_token', 'unk_token'] as const) {
    const token = config[name]
    if (token !== undefined && token !== null) tokens[name] = token
  }
  return tokens
}

function toSamplingDefaults(generation: z.infer<typeof GenerationConfig>): SamplingDefaults {
  return {
    ...(typeof generation.temperature === 'number' && { temperature: generation.temperature }),
    ...(typeof generation.top_p === 'number' && { topP: generation.top_p }),
    ...(typeof generation.top_k === 'number' && { topK: generation.top_k }),
    ...(typeof generation.min_p === 'number' && { minP: generation.min_p }),
    ...(typeof generation.repetition_penalty === 'number' && {
      repetitionPenalty: generation.repetition_penalty,
    }),
  }
}

function toList(ids: z.infer<typeof EosIds>): number[] {
  if (ids === undefined || ids === null) return []
  return typeof ids === 'number' ? [ids] : ids
}

/** A file of settings, all of which may be absent, and so may the file. */
async function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
): Promise<z.infer<Schema>> {
  return parseJson(schema, path, (await readOptional(path)) ?? '{}')
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function parseJson<Schema extends z.ZodType>(schema: Schema, path: string, text: string): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    throw new Error(`${path} cannot be used`, { cause: error })
  }
}
