import { expect, test } from 'vitest'
import { isRepeated } from '#apps/gateway/http/is-repeated.ts'

test('a request is repeated where its client counts a repetition above zero', () => {
  for (const count of ['1', '2', '10', '01']) {
    expect(isRepeated({ 'x-stainless-retry-count': count })).toBe(true)
  }
  for (const count of ['0', '00', '', '-1', '1.5', 'one', '1, 2']) {
    expect(isRepeated({ 'x-stainless-retry-count': count })).toBe(false)
  }
  expect(isRepeated({})).toBe(false)
})
