import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDecodeStream } from '#libs/dialect/decode-stream.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'

const tokenizer = await loadTokenizer('models/tiny')
const keepAll = () => false

function pieces(ids: ArrayLike<number>, skips: (id: number) => boolean = keepAll): string[] {
  const stream = createDecodeStream(tokenizer, skips)
  return [...Array.from(ids, (id) => stream.push(id)), stream.flush()]
}

it('returns the same text as decoding all ids at once, invalid UTF-8 and unknown ids included', () => {
  const id = fc.oneof(fc.nat({ max: 2100 }), fc.integer({ min: 94, max: 260 }))
  fc.assert(
    fc.property(fc.array(id), (ids) => {
      expect(pieces(ids).join('')).toBe(tokenizer.decode(ids))
    }),
    { numRuns: 3000 },
  )
})

it('never returns half a character: an emoji comes with its last token', async () => {
  const ids = await tokenizer.encode('é東😀x')
  expect(ids.length).toBeGreaterThan(5)
  const parts = pieces(ids).filter((part) => part !== '')
  expect(parts).toEqual(['é', '東', '😀', 'x'])
})

it('returns U+FFFD at the end for an unfinished character', async () => {
  const ids = await tokenizer.encode('東')
  expect(pieces(ids.subarray(0, 2))).toEqual(['', '', '\uFFFD'])
})

it('skips ids, also between the bytes of one character', async () => {
  const [first = 0, second = 0, third = 0] = await tokenizer.encode('東')
  const ids = [2001, first, 2002, second, third, 2005]
  expect(pieces(ids, (id) => tokenizer.isSpecial(id)).join('')).toBe('東<think>')
})

it('keeps a byte order mark, which is text like any other', async () => {
  expect(pieces(await tokenizer.encode('\uFEFFa')).join('')).toBe('\uFEFFa')
})
