import { expect, it } from 'vitest'
import { toEndIds } from '#libs/model-files/to-end-ids.ts'
import { createModel } from '#libs/model-files/model.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'

const tiny = await createModel(await readModelFolder('models/tiny'))

it.for([
  ['nothing, where the family adds nothing', [], []],
  ['a special token', ['<|im_start|>'], [2001]],
  ['a token that is not flagged special', ['<tool_response>'], [2007]],
  ['a token that ends turns anyway, once', ['<|im_end|>'], []],
  ['no text of several tokens', ['<|eot_id|>', 'Hello world'], []],
  ['no token of the vocabulary that is only text', [tiny.tokenizer.decode([300])], []],
] as const)('beside its own ones a model’s turns end with %s', ([, stopTokens, added]) => {
  expect(toEndIds(tiny, { stopTokens: [...stopTokens] })).toEqual(new Set([2002, 2000, ...added]))
})

it('an id beyond the vocabulary ends nothing', () => {
  const eosIds = new Set([2002, 2047, 2048, -1])
  const model = { eosIds, tokenizer: tiny.tokenizer, paddedVocabularySize: 2_048 }
  expect(toEndIds(model, { stopTokens: [] })).toEqual(new Set([2002, 2047]))
})
