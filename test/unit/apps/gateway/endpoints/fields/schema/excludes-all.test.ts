import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { excludesAll } from '#apps/gateway/endpoints/fields/schema/excludes-all.ts'

test.each([
  String.raw`[^\s\S]`,
  String.raw`[^\d\D]`,
  String.raw`[^\W\w]`,
  String.raw`[^\D0-9]`,
  String.raw`[^\s!-\u{10ffff}\x00-\x08\x0e-\x1f]`,
  String.raw`[^\s\0-\u0008\x0e-\x1f!-\u167f\u1681-\U0010ffff]`,
  String.raw`[^\x0-\x10ffff]`,
  '[]',
  String.raw`[^\x00-\U0010FFFF]`,
  String.raw`[^\u0000-\ud7ff\ue000-\u{10FFFF}]`,
  String.raw`[^\x00-\uffff\ud800\udc00-\udbff\udfff]`,
  String.raw`[^b-\u{10ffff}\x00-a]`,
])('%s excludes every character', (text) => {
  expect(excludesAll(text)).toBe(true)
})

test.each([
  String.raw`[\s\S]`,
  '[^]',
  '[^a-z]',
  String.raw`[^\s]`,
  String.raw`[^\d\W]`,
  String.raw`[^\d-\u{10ffff}\x00-/]`,
  String.raw`[^\x00-\uffff]`,
  String.raw`[^\x01-\u{10ffff}]`,
  String.raw`[^\x00-,.-\u{10ffff}]`,
  '[^-]',
  String.raw`[^\]]`,
])('%s leaves a character', (text) => {
  expect(excludesAll(text)).toBe(false)
})

test('ranges of characters exclude what a regular expression excludes', () => {
  const code = fc.integer({ min: 0x20, max: 0x2f })
  const ends = fc.constantFrom(String.raw`\x00-\x1f`, String.raw`\0-\x1f`)
  fc.assert(
    fc.property(fc.array(fc.tuple(code, code), { maxLength: 6 }), ends, (pairs, start) => {
      const escape = (one: number) => `\\x${one.toString(16)}`
      const ranges = pairs.map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const)
      const written = ranges.map(([low, high]) => `${escape(low)}-${escape(high)}`).join('')
      const text = `[^${written}${start}\\x30-\\u{10ffff}]`
      const all = Array.from({ length: 16 }, (_, index) => String.fromCharCode(0x20 + index))
      expect(excludesAll(text)).toBe(!all.some((one) => new RegExp(text, 'u').test(one)))
    }),
  )
})
