import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { incompleteTail } from '#libs/tokenizer/utf8.ts'

/** Bytes at the boundaries of the UTF-8 grammar, which a uniform choice would rarely hit. */
const utf8Byte = fc.oneof(
  fc.constantFrom(0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf),
  fc.constantFrom(0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff),
  fc.nat({ max: 255 }),
)

it('cutting before the tail never changes the text that a lenient decoder gives', () => {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  fc.assert(
    fc.property(fc.array(utf8Byte), fc.array(utf8Byte), (a, b) => {
      const bytes = Uint8Array.from([...a, ...b])
      for (let cut = 0; cut <= bytes.length; cut++) {
        const at = cut - incompleteTail(bytes, cut)
        const parts = decoder.decode(bytes.subarray(0, at)) + decoder.decode(bytes.subarray(at))
        expect(parts).toBe(decoder.decode(bytes))
      }
    }),
    { numRuns: 2000 },
  )
})

it('finds exactly the bytes that a streaming decoder buffers', () => {
  fc.assert(
    fc.property(fc.array(utf8Byte), (list) => {
      const bytes = Uint8Array.from(list)
      const streamed = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
      const whole = bytes.subarray(0, bytes.length - incompleteTail(bytes, bytes.length))
      expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole)).toBe(streamed)
    }),
    { numRuns: 2000 },
  )
})
