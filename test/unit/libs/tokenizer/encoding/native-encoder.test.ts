import { describe, expect, it } from 'vitest'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import { referenceTexts, referenceTokenizers } from '../reference-tokenizers.ts'

describe.for(referenceTokenizers)('$kind', ({ file, reference }) => {
  it('gives every hostile text the ids that Python gives it', async () => {
    const encoder = await openNativeEncoder(file)
    const plain = await encoder.encode(referenceTexts, { whole: false })
    const whole = await encoder.encode(referenceTexts, { whole: true })
    const ours = referenceTexts.map((text, i) => ({
      text,
      ids: [...(plain[i] ?? [])],
      wholeIds: [...(whole[i] ?? [])],
    }))
    expect(ours).toEqual(referenceTexts.map((text, i) => ({ text, ...reference.texts[i] })))
  })
})
