import { expect, test } from 'vitest'
import { createHoldShares } from '#apps/gateway/generation/hold-shares.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const HOLD = { ...generationJob().hold, amountNano: '500', outputTokens: 40 }

test('one choice has the whole hold, as billing granted it', () => {
  const shares = createHoldShares(HOLD, 1)
  expect(shares.of(0)).toBe(HOLD)
  const grown = { ...HOLD, amountNano: '900', outputTokens: 80 }
  expect(shares.grown(0, grown)).toBe(grown)
  expect(shares.replaced(0, HOLD)).toBe(HOLD)
})

test('choices share the output tokens equally, and each sees the whole amount', () => {
  const shares = createHoldShares({ ...HOLD, outputTokens: 41 }, 3)
  const all = [0, 1, 2].map((choice) => shares.of(choice))
  expect(all.map(({ outputTokens }) => outputTokens)).toEqual([14, 14, 13])
  expect(all.map(({ otherTokens }) => otherTokens)).toEqual([27, 27, 28])
  expect(new Set(all.map(({ amountNano }) => amountNano))).toEqual(new Set(['500']))
})

test('what the hold grows by belongs to the choice that asked, also if another choice has asked before', () => {
  const shares = createHoldShares(HOLD, 2)
  shares.grown(1, { ...HOLD, amountNano: '700', outputTokens: 100 })
  const first = shares.grown(0, { ...HOLD, amountNano: '800', outputTokens: 130 })
  expect(first).toMatchObject({ amountNano: '800', outputTokens: 50, otherTokens: 80 })
  expect(shares.of(1)).toMatchObject({ amountNano: '800', outputTokens: 80, otherTokens: 50 })
})

test('a hold that is replaced is shared anew, once: each choice asks for the same hold', () => {
  const shares = createHoldShares(HOLD, 2)
  const exact = { ...HOLD, amountNano: '620', outputTokens: 30 }
  expect(shares.replaced(1, exact)).toMatchObject({ amountNano: '620', outputTokens: 15, otherTokens: 15 })
  shares.grown(1, { ...exact, amountNano: '700', outputTokens: 50 })
  expect(shares.replaced(0, exact)).toMatchObject({ amountNano: '700', outputTokens: 15, otherTokens: 35 })
})

test('what a complete choice has left goes to the choices that ask, before the hold grows', () => {
  const shares = createHoldShares({ ...HOLD, outputTokens: 90 }, 3)
  expect([shares.takeSpare(0, 8), shares.mayGetSpare()]).toEqual([0, true])
  shares.completed(2, 18)
  expect([shares.takeSpare(0, 8), shares.takeSpare(1, 8), shares.takeSpare(1, 8)]).toEqual([8, 4, 0])
  expect(shares.of(0)).toMatchObject({ amountNano: '500', outputTokens: 38, otherTokens: 52 })
  expect(shares.of(1)).toMatchObject({ outputTokens: 34, otherTokens: 56 })
  shares.completed(1, 34)
  expect(shares.mayGetSpare()).toBe(false)
})

test('choices take turns, also after one has failed', async () => {
  const shares = createHoldShares(HOLD, 2)
  const { promise, reject } = Promise.withResolvers<void>()
  const log: string[] = []
  const first = shares.inTurn(async () => {
    log.push('first')
    await promise
  })
  const second = shares.inTurn(async () => void log.push('second'))
  expect(log).toEqual(['first'])
  reject(new Error('billing is away'))
  await expect(first).rejects.toThrow('billing is away')
  await second
  await shares.inTurn(async () => void log.push('third'))
  expect(log).toEqual(['first', 'second', 'third'])
})
