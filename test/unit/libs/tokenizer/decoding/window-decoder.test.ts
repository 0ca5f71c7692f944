import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDecoderSteps, toByte } from '#libs/tokenizer/decoding/decoder-steps.ts'
import { createWindowDecoder } from '#libs/tokenizer/decoding/window-decoder.ts'
import type { TokenizerFile } from '#libs/tokenizer/tokenizer-file.ts'
import { referenceTokenizers } from '../reference-tokenizers.ts'

const windowed = referenceTokenizers.filter(({ kind }) => kind !== 'byte-level-bpe')

const create = ({ tokens, decoder }: TokenizerFile) => createWindowDecoder(tokens, parseDecoderSteps(decoder))

function streamed(decoder: ReturnType<typeof create>, ids: readonly number[]): string[] {
  const stream = decoder.stream()
  return [...ids.map((id) => stream.push(id)), stream.flush()]
}

/** Returns whether every run of byte tokens is valid UTF-8. */
function isText({ tokens }: TokenizerFile, ids: readonly number[]): boolean {
  const bytes = ids.map((id) => toByte(tokens[id] ?? '') ?? 0)
  return !Buffer.from(bytes).toString('utf8').includes('\uFFFD')
}

describe.for(windowed)('$kind', ({ file, reference }) => {
  const decoder = create(file)

  it('decodes every list of ids as Python does', () => {
    const ours = reference.decoded.map(({ ids }) => ({ ids, text: decoder.decode(ids) }))
    expect(ours).toEqual(reference.decoded.map(({ ids, text }) => ({ ids, text })))
  })

  it('gives the same text id by id, as Python gives it after a word', () => {
    const texts = reference.decoded.filter(({ ids }) => isText(file, ids))
    expect(texts.length).toBeGreaterThan(150)
    const ours = texts.map(({ ids }) => ({ ids, following: streamed(decoder, ids).join('') }))
    expect(ours).toEqual(texts.map(({ ids, following }) => ({ ids, following })))
  })

  it('buffers only the bytes of an incomplete character', () => {
    const id = fc.nat({ max: file.tokens.length - 1 })
    fc.assert(
      fc.property(fc.array(id), (ids) => {
        const parts = streamed(decoder, ids)
        const lengthOf = (count: number) => decoder.decode(ids.slice(0, count)).length
        const late = ids.filter(
          (given, i) =>
            parts[i] === '' && toByte(file.tokens[given] ?? '') === null && lengthOf(i + 1) > lengthOf(i),
        )
        expect(late).toEqual([])
      }),
    )
  })
})

describe('bytes', () => {
  const steps = parseDecoderSteps({
    type: 'Sequence',
    decoders: [
      { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 },
    ],
  })
  const tokens = [
    ...Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).padStart(2, '0')}>`),
    '▁a',
  ]
  const decoder = createWindowDecoder(tokens, steps)
  const bytesOf = (text: string) => [...Buffer.from(text)]

  it('are returned as complete characters, with the last byte of each', () => {
    expect(streamed(decoder, bytesOf('é東😀')).filter((part) => part !== '')).toEqual(['é', '東', '😀'])
    expect(streamed(decoder, [...bytesOf('東'), 256])).toEqual(['', '', '東', ' a', ''])
  })

  it('that are invalid UTF-8 are U+FFFD each, and characters before and after them are kept', () => {
    expect(streamed(decoder, [0xff, 256])).toEqual(['\uFFFD', ' a', ''])
    expect(streamed(decoder, [0xe6, 0x9d, 256])).toEqual(['', '', '\uFFFD\uFFFD a', ''])
    expect(streamed(decoder, [0xe6, ...bytesOf('😀')]).join('')).toBe('\uFFFD😀')
    expect(streamed(decoder, [...bytesOf('東'), 0xe6])).toEqual(['', '', '東', '', '\uFFFD'])
    expect(streamed(decoder, bytesOf('\uFEFFa')).join('')).toBe('\uFEFFa')
  })
})

describe('other decoders', () => {
  const words = ['one', '▁two', 'th</w>', 'ree</w>']

  it('without any step, tokens are joined by blanks', () => {
    const decoder = createWindowDecoder(words, parseDecoderSteps(null))
    expect(decoder.decode([0, 1, 99])).toBe('one ▁two')
    expect(streamed(decoder, [0, 1])).toEqual([' one', ' ▁two', ''])
  })

  it('that end words with a suffix give the blank with the next word', () => {
    const decoder = createWindowDecoder(words, parseDecoderSteps({ type: 'BPEDecoder', suffix: '</w>' }))
    expect(decoder.decode([2, 3])).toBe('th ree')
    expect(streamed(decoder, [2, 3, 0])).toEqual(['th', ' ree', ' one', ''])
  })
})
