import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import { runs } from '#test/support/long.ts'
import { referenceTexts, referenceTokenizers } from '../reference-tokenizers.ts'
import { createJavascriptEncoder } from './javascript-encoder.ts'

/** Other characters may be in the Unicode tables of one library and not in those of the other. */
const characters = new Set(referenceTexts.join(''))

describe.for(referenceTokenizers)('$kind', async ({ file, reference }) => {
  const native = await openNativeEncoder(file)
  const javascript = createJavascriptEncoder(file.json)

  it.for([
    ['native', native],
    ['JavaScript', javascript],
  ] as const)('the %s library gives every hostile text the ids that Python gives it', async ([, encoder]) => {
    const plain = await encoder.encode(referenceTexts, { whole: false })
    const whole = await encoder.encode(referenceTexts, { whole: true })
    const ours = referenceTexts.map((text, i) => ({
      text,
      ids: [...(plain[i] ?? [])],
      wholeIds: [...(whole[i] ?? [])],
    }))
    expect(ours).toEqual(referenceTexts.map((text, i) => ({ text, ...reference.texts[i] })))
  })

  it('both libraries lower the last sigma of a word alike', async () => {
    const texts = ['helloΣ', 'ΣΑΣ ΟΔΟΣ.']
    expect(await native.encode(texts, { whole: false })).toEqual(
      await javascript.encode(texts, { whole: false }),
    )
  })

  it('both libraries agree on texts of the same characters, lone surrogates included', async () => {
    const unit = fc.constantFrom('hello', ' ', 'the', '<think>', '<|im_end|>', '\uD800', ...characters)
    const texts = fc.array(
      fc.array(unit).map((parts) => parts.join('')),
      { minLength: 1 },
    )
    await fc.assert(
      fc.asyncProperty(texts, async (given) => {
        expect(await native.encode(given, { whole: true })).toEqual(
          await javascript.encode(given, { whole: true }),
        )
      }),
      { numRuns: runs(50, 200) },
    )
  })
})

it('throws for a tokenizer.json that the library cannot use', async () => {
  const file = {
    json: '{}',
    tokens: [],
    unknownId: null,
    addedTokens: [],
    decoder: null,
    prependsFirst: false,
  }
  await expect(openNativeEncoder(file)).rejects.toThrow(/Model missing/)
})
