import { expect, it } from 'vitest'
import { hasMoreCharacters, textBytes, textCharacters } from '#libs/contracts/text-size.ts'

it('counts every string and every key, however deep and in whatever list, and other values as JSON writes them', () => {
  const added = (value: unknown, more: unknown) => textBytes(more) - textBytes(value)
  expect(added({ a: [{ b: '' }] }, { a: [{ b: '水水' }] })).toBe(6)
  expect(added({ a: [{ b: 1 }] }, { a: [{ bbbb: 1 }] })).toBe(3)
  expect(added({ enum: [] }, { enum: [123_456] })).toBeGreaterThanOrEqual(6)
  expect(textCharacters({ a: '水水' })).toBe(textBytes({ a: 'xx' }))
})

it('leaves out absent fields', () => {
  expect(textBytes({ a: 'x', b: undefined })).toBe(textBytes({ a: 'x' }))
})

it('counts values that nest deeper than the stack', () => {
  let value: unknown = 'x'
  for (let level = 0; level < 1_000_000; level += 1) value = [value]
  expect(textBytes(value)).toBeGreaterThan(1_000_000)
})

it('answers whether there is more than a number of characters without counting the rest', () => {
  let read = 0
  const texts = {
    get first() {
      return 'x'.repeat(10)
    },
    list: Array.from({ length: 1_000 }, () => ({
      get text() {
        read += 1
        return 'x'.repeat(10)
      },
    })),
  }
  expect(hasMoreCharacters(texts, 10_000)).toBe(true)
  expect(read).toBeLessThan(1_000)
  expect(hasMoreCharacters({ a: 'xx' }, textCharacters({ a: 'xx' }))).toBe(false)
})
