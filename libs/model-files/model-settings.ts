import { z } from 'zod'
import type { SamplingDefaults } from '#libs/dialect/family.ts'
import type { ChatTemplate } from '#libs/chat-template/chat-renderer.ts'
import type { ModelFiles } from './model-files.ts'

/** The settings of the small files beside tokenizer.json, each of which may be absent. */
export type ModelSettings = {
  readonly templates: Pick<ChatTemplate, 'source' | 'toolSource'>
  /** The texts of special tokens, by the names that chat templates use: `bos_token`, `eos_token`, … */
  readonly specialTokens: Readonly<Record<string, string>>
  /** The ids of end tokens in config.json and generation_config.json. */
  readonly eosIds: readonly number[]
  /** The size of the output layer; 0 if config.json does not name it. */
  readonly vocabularySize: number
  /** The sampling defaults of generation_config.json; null without that file. */
  readonly generationDefaults: SamplingDefaults | null
}

/** Throws an error if a file does not have the form that Hugging Face documents. The error names the file. */
export function readModelSettings(files: ModelFiles): ModelSettings {
  const tokenizer = readFile(files, 'tokenizer_config.json', TokenizerConfig)
  const config = readFile(files, 'config.json', ModelConfig)
  const generation = readFile(files, 'generation_config.json', GenerationConfig)
  return {
    templates: toTemplates(files, tokenizer),
    specialTokens: {
      ...toSpecialTokens(readFile(files, 'special_tokens_map.json', SpecialTokens)),
      ...toSpecialTokens(tokenizer),
    },
    eosIds: [...toList(config.eos_token_id), ...toList(generation.eos_token_id)],
    vocabularySize: config.vocab_size ?? 0,
    generationDefaults: files.has('generation_config.json') ? toSamplingDefaults(generation) : null,
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

/**
 * Takes the chat templates from the first of these files that has one: chat_template.jinja, then chat_template.json
 * (which image processors have), then tokenizer_config.json.
 */
function toTemplates(
  files: ModelFiles,
  tokenizer: z.infer<typeof TokenizerConfig>,
): ModelSettings['templates'] {
  const source = files.get('chat_template.jinja')?.toString('utf8')
  if (source !== undefined) return { source, toolSource: null }
  const template =
    readFile(files, 'chat_template.json', ProcessorTemplate).chat_template ?? tokenizer.chat_template
  if (!Array.isArray(template)) return { source: template ?? null, toolSource: null }
  const named = (name: string) => template.find((entry) => entry.name === name)?.template ?? null
  return { source: named('default'), toolSource: named('tool_use') }
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
  files: ModelFiles,
  name: string,
  schema: Schema,
): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(files.get(name)?.toString('utf8') ?? '{}'))
  } catch (error) {
    throw new Error(`${name} cannot be used`, { cause: error })
  }
}
