import { z } from 'zod'
import type { SamplingDefaults } from '#libs/dialect/family.ts'
import type { TokenizerFiles } from './tokenizer-files.ts'

/** What the small files beside tokenizer.json say, all of which may be absent. */
export type ModelSettings = {
  /** By the names that chat templates use: `bos_token`, `eos_token`, … */
  readonly specialTokens: Readonly<Record<string, string>>
  /** Of config.json and generation_config.json. */
  readonly eosIds: readonly number[]
  /** Of the output layer; 0 when config.json does not say. */
  readonly vocabularySize: number
  /** Of generation_config.json; null without one. */
  readonly samplingDefaults: SamplingDefaults | null
  /** Jinja sources. */
  readonly chatTemplate: string | null
  /** What some models have instead for chats with tools. */
  readonly toolTemplate: string | null
}

/** Throws an error that names the file which has another shape than Hugging Face documents. */
export function readModelSettings(files: TokenizerFiles): ModelSettings {
  const tokenizer = readFile(files, 'tokenizer_config.json', TokenizerConfig)
  const config = readFile(files, 'config.json', ModelConfig)
  const generation = readFile(files, 'generation_config.json', GenerationConfig)
  return {
    specialTokens: {
      ...toSpecialTokens(readFile(files, 'special_tokens_map.json', SpecialTokens)),
      ...toSpecialTokens(tokenizer),
    },
    eosIds: [...toList(config.eos_token_id), ...toList(generation.eos_token_id)],
    vocabularySize: config.vocab_size ?? 0,
    samplingDefaults: files.has('generation_config.json') ? toSamplingDefaults(generation) : null,
    ...toTemplates(files, tokenizer),
  }
}

/** Either the text itself or Hugging Face's AddedToken object. */
const TokenText = z
  .union([z.string(), z.object({ content: z.string() }).transform((token) => token.content)])
  .nullish()

const SpecialTokens = z.object({
  bos_token: TokenText,
  eos_token: TokenText,
  unk_token: TokenText,
  sep_token: TokenText,
  pad_token: TokenText,
  cls_token: TokenText,
  mask_token: TokenText,
})

const Template = z
  .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
  .nullish()

const TokenizerConfig = SpecialTokens.extend({ chat_template: Template })

const ProcessorTemplate = z.object({ chat_template: Template })

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

function toSpecialTokens(config: z.infer<typeof SpecialTokens>): Record<string, string> {
  const tokens: Record<string, string> = {}
  for (const name of SpecialTokens.keyof().options) {
    const token = config[name]
    if (token !== undefined && token !== null) tokens[name] = token
  }
  return tokens
}

/** A file of its own goes before a field of another; processors of images have a file of their own kind. */
function toTemplates(
  files: TokenizerFiles,
  tokenizer: z.infer<typeof TokenizerConfig>,
): Pick<ModelSettings, 'chatTemplate' | 'toolTemplate'> {
  const source = files.get('chat_template.jinja')?.toString('utf8')
  if (source !== undefined) return { chatTemplate: source, toolTemplate: null }
  const template =
    readFile(files, 'chat_template.json', ProcessorTemplate).chat_template ?? tokenizer.chat_template
  if (!Array.isArray(template)) return { chatTemplate: template ?? null, toolTemplate: null }
  const named = (name: string) => template.find((entry) => entry.name === name)?.template ?? null
  return { chatTemplate: named('default'), toolTemplate: named('tool_use') }
}

function toSamplingDefaults(generation: z.infer<typeof GenerationConfig>): SamplingDefaults {
  if (generation.do_sample === false) return {}
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

function readFile<Schema extends z.ZodType>(
  files: TokenizerFiles,
  name: string,
  schema: Schema,
): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(files.get(name)?.toString('utf8') ?? '{}'))
  } catch (error) {
    throw new Error(`${name} cannot be used`, { cause: error })
  }
}
