import * as fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { openJavascriptEncoder } from '#libs/tokenizer/encoding/javascript-encoder.ts'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import { referenceTexts, referenceTokenizers } from '../reference-tokenizers.ts'

const log = pino({ level: 'silent' })

/** Others may be newer to one library than to the other: each has its own tables of Unicode. */
const characters = new Set(referenceTexts.join(''))

describe.for(referenceTokenizers)('$kind', ({ file, reference }) => {
  const encoder = openJavascriptEncoder(file, log)
  afterAll(async () => await encoder.close())

  it('gives every hostile text the ids that Python gives it', async () => {
    const plain = await encoder.encode(referenceTexts, { whole: false })
    const whole = await encoder.encode(referenceTexts, { whole: true })
    const ours = referenceTexts.map((text, i) => ({
      text,
      ids: [...(plain[i] ?? [])],
      wholeIds: [...(whole[i] ?? [])],
    }))
    expect(ours).toEqual(referenceTexts.map((text, i) => ({ text, ...reference.texts[i] })))
  })

  it('lowers the last sigma of a word as the native encoder does', async () => {
    const native = await openNativeEncoder(file)
    const texts = ['helloΣ', 'ΣΑΣ ΟΔΟΣ.']
    expect(await encoder.encode(texts, { whole: false })).toEqual(
      await native.encode(texts, { whole: false }),
    )
  })

  it('agrees with the native encoder on texts of the same characters, lone surrogates included', async () => {
    const native = await openNativeEncoder(file)
    const unit = fc.constantFrom('hello', ' ', 'the', '<think>', '<|im_end|>', '\uD800', ...characters)
    const texts = fc.array(
      fc.array(unit).map((parts) => parts.join('')),
      { minLength: 1 },
    )
    await fc.assert(
      fc.asyncProperty(texts, async (given) => {
        expect(await encoder.encode(given, { whole: true })).toEqual(
          await native.encode(given, { whole: true }),
        )
      }),
      { numRuns: 200 },
    )
  })
})
