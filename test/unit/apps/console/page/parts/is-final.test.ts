import { expect, test } from 'vitest'
import { isFinal } from '#apps/console/page/parts/is-final.ts'

const SETTLED_AT = '2030-01-01T00:00:00.000Z'
const SETTLED_MS = Date.parse(SETTLED_AT)
const settlement = { settledAt: SETTLED_AT }

test('a request that is not settled may change', () => {
  expect(isFinal({ settlement: null, timing: null }, SETTLED_MS)).toBe(false)
})

test('a request that is settled may still get its times, for a minute', () => {
  expect(isFinal({ settlement, timing: null }, SETTLED_MS + 60_000)).toBe(false)
  expect(isFinal({ settlement, timing: null }, SETTLED_MS + 60_001)).toBe(true)
})

test('a request with its charge and its times changes no more', () => {
  expect(isFinal({ settlement, timing: {} }, SETTLED_MS)).toBe(true)
})
