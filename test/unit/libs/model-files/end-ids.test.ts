import { expect, it } from 'vitest'
import { toEndIds } from '#libs/model-files/end-ids.ts'
import { createTokenizer } from '#libs/tokenizer/tokenizer.ts'
import { readTokenizerFolder } from '#libs/model-files/tokenizer-files.ts'

const tiny = await createTokenizer(await readTokenizerFolder('models/tiny'))

it.for([
  ['nothing, where the family adds nothing', [], []],
  ['a special token', ['<|im_start|>'], [2001]],
  ['a token that is not flagged special', ['<tool_response>'], [2007]],
  ['a token that ends turns anyway, once', ['<|im_end|>'], []],
  ['no text of several tokens', ['<|eot_id|>', 'Hello world'], []],
  ['no token of the vocabulary that is only text', [tiny.decode([300])], []],
] as const)('beside its own ones a model’s turns end with %s', ([, stopTokens, added]) => {
  expect(toEndIds(tiny, { stopTokens: [...stopTokens] })).toEqual(new Set([2002, 2000, ...added]))
})

it('an id beyond the vocabulary ends nothing', () => {
  const eosIds = new Set([2002, 2047, 2048, -1])
  const model = { eosIds, addedTokens: tiny.addedTokens, paddedVocabularySize: 2_048 }
  expect(toEndIds(model, { stopTokens: [] })).toEqual(new Set([2002, 2047]))
})
