import type { ModelFamily } from '#libs/dialect/family.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { Model } from './model.ts'

type EndingModel = Pick<Model, 'eosIds' | 'paddedVocabularySize'> & {
  readonly tokenizer: Pick<Tokenizer, 'addedTokens'>
}

/**
 * Returns every token id that ends a message of the model: the model's own end ids, and the ids of the family's stop
 * tokens that this tokenizer has as added tokens. Ids beyond the vocabulary are left out, because an engine refuses
 * every request that names one.
 */
export function toEndIds(
  { eosIds, tokenizer, paddedVocabularySize }: EndingModel,
  { stopTokens }: Pick<ModelFamily, 'stopTokens'>,
): ReadonlySet<number> {
  const stopIds = tokenizer.addedTokens.filter(({ text }) => stopTokens.includes(text)).map(({ id }) => id)
  return new Set([...eosIds, ...stopIds].filter((id) => id >= 0 && id < paddedVocabularySize))
}
