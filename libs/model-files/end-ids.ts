import type { ModelFamily } from '#libs/dialect/family.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/**
 * Every id that ends a turn: those that the model's own files name, and of the family's stop tokens those that this
 * tokenizer has as tokens of their own. None lies beyond the vocabulary: an engine refuses every request with such a
 * one.
 */
export function toEndIds(
  { eosIds, addedTokens, paddedVocabularySize }: EndingTokenizer,
  { stopTokens }: Pick<ModelFamily, 'stopTokens'>,
): ReadonlySet<number> {
  const stopIds = addedTokens.filter(({ text }) => stopTokens.includes(text)).map(({ id }) => id)
  return new Set([...eosIds, ...stopIds].filter((id) => id >= 0 && id < paddedVocabularySize))
}

type EndingTokenizer = Pick<Tokenizer, 'eosIds' | 'addedTokens' | 'paddedVocabularySize'>
