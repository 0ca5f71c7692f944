import { expect, it } from 'vitest'
import { createByteDecoder } from '#libs/tokenizer/decoding/byte-decoder.ts'
import { referenceTokenizers } from '../reference-tokenizers.ts'

const byteLevel = referenceTokenizers.filter(({ kind }) => kind === 'byte-level-bpe')

it.for(byteLevel)(
  'gives all ids the text that Python gives them, at once and one by one',
  ({ file, reference }) => {
    const decoder = createByteDecoder(file.tokens)
    const ours = reference.decoded.map(({ ids }) => ({
      ids,
      text: decoder.decode(ids),
      following: streamed(ids),
    }))
    expect(ours).toEqual(reference.decoded)

    function streamed(ids: readonly number[]): string {
      const stream = decoder.stream()
      return ids.map((id) => stream.push(id)).join('') + stream.flush()
    }
  },
)

it('has checked something', () => expect(byteLevel).toHaveLength(1))
