import { expect, test } from 'vitest'
import { Sampling } from '#libs/contracts/generation-request.ts'

test.each([
  [0, true],
  [2 ** 31 - 1, true],
  [-1, false],
  [2 ** 31, false],
])('a seed has 31 bits: %d is one, %s', (seed, isSeed) => {
  expect(Sampling.safeParse({ seed }).success).toBe(isSeed)
})
