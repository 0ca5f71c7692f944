import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkJsonSize } from '#apps/gateway/http/check-json-size.ts'

const check = (json: string) => checkJsonSize(Buffer.from(json))

it('allows 256 levels and no more', () => {
  expect(check('['.repeat(256) + ']'.repeat(256))).toBeNull()
  expect(check('['.repeat(257) + ']'.repeat(257))).toMatch(/256 levels/)
  expect(check('{"a":'.repeat(257))).toMatch(/256 levels/)
  expect(check(`[${'[],'.repeat(1_000)}[]]`)).toBeNull()
})

it('allows a million values and no more', () => {
  expect(check(`[${'1,'.repeat(999_997)}1]`)).toBeNull()
  expect(check(`[${'1,'.repeat(1_000_000)}1]`)).toMatch(/1000000 values/)
  expect(check(`[${'{},'.repeat(500_000)}{}]`)).toMatch(/1000000 values/)
})

it('counts nothing inside strings, wherever their quotes and backslashes are', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('[', '{', ',', '"', '\\', 'a', 'é')), (parts) => {
      const text = JSON.stringify(parts.join('').repeat(300))
      expect(check(`[${text},${text}]`)).toBeNull()
      expect(check(`[${text},${'['.repeat(300)}`)).toMatch(/levels/)
    }),
  )
})

it('stops at the end of the bytes when a string is not closed', () => {
  expect(check('["abc')).toBeNull()
  expect(check('["abc\\"')).toBeNull()
  expect(check('')).toBeNull()
})

it('counts up to fewer values when asked', () => {
  expect(checkJsonSize(Buffer.from(`[${'1,'.repeat(7)}1]`), { maxValues: 9 })).toBeNull()
  expect(checkJsonSize(Buffer.from(`[${'1,'.repeat(8)}1]`), { maxValues: 9 })).toMatch(/9 values/)
})
