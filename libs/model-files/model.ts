import type { ChatTemplate } from '#libs/chat-template/chat-renderer.ts'
import type { SamplingDefaults } from '#libs/dialect/family.ts'
import { createTokenizer, type Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { ModelFiles } from './model-files.ts'
import { readModelSettings } from './model-settings.ts'

/** A model as its own files describe it. */
export type Model = {
  readonly tokenizer: Tokenizer
  readonly template: ChatTemplate
  /**
   * The token ids that end a message of the model: all ids that tokenizer_config.json, config.json or
   * generation_config.json names as an end.
   */
  readonly eosIds: ReadonlySet<number>
  /** The size of the output layer (config.json): never below the tokenizer's vocabulary, often padded above it. */
  readonly paddedVocabularySize: number
  /** The sampling that generation_config.json recommends; null without that file. */
  readonly generationDefaults: SamplingDefaults | null
}

/** Throws an error if a file is missing or malformed, or needs something unsupported. The error names the file. */
export async function createModel(files: ModelFiles, toTokenizer = createTokenizer): Promise<Model> {
  const tokenizerJson = files.get('tokenizer.json')
  if (tokenizerJson === undefined) throw new Error('there is no tokenizer.json')
  const settings = readModelSettings(files)
  const { specialTokens } = settings
  const tokenizer = await toTokenizer(tokenizerJson.toString('utf8'))
  const eosId = tokenizer.tokenId(specialTokens['eos_token'] ?? '')
  return {
    tokenizer,
    template: { ...settings.templates, specialTokens, addedTokens: tokenizer.addedTokens },
    eosIds: new Set([...(eosId === null ? [] : [eosId]), ...settings.eosIds]),
    paddedVocabularySize: Math.max(tokenizer.vocabularySize, settings.vocabularySize),
    generationDefaults: settings.generationDefaults,
  }
}
