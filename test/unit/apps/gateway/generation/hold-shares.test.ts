import { array, assert, integer, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { createHoldShares } from '#apps/gateway/generation/hold-shares.ts'
import { paidOutput } from '#apps/worker/run/cap-output.ts'
import type { Hold } from '#libs/contracts/generation-job.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const HOLD = { ...generationJob().hold, amountNano: '500', outputTokens: 40 }

const used = (completionTokens: number, promptTokens = 3) => ({ promptTokens, completionTokens })

test('one choice has the whole hold, as billing granted it', async () => {
  const shares = createHoldShares(HOLD, 1)
  expect(shares.of(0)).toBe(HOLD)
  const grown = { ...HOLD, amountNano: '900', outputTokens: 80 }
  expect(shares.grown(0, grown)).toBe(grown)
  expect(await shares.replace(0, 3, async () => HOLD)).toBe(HOLD)
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

test('what the hold grows by after its choice has ended is spare, and the ask of an ended choice is not needed', () => {
  const shares = createHoldShares(HOLD, 2)
  shares.completed(0, used(15))
  shares.grown(0, { ...HOLD, amountNano: '700', outputTokens: 100 })
  expect([shares.isComplete(0), shares.isComplete(1), shares.mayGetSpare()]).toEqual([true, false, true])
  expect([shares.takeSpare(1, 64), shares.takeSpare(1, 64), shares.mayGetSpare()]).toEqual([64, 1, false])
  expect(shares.of(1)).toMatchObject({ amountNano: '700', outputTokens: 85, otherTokens: 15 })
})

test('a hold that is replaced is shared anew, once: each choice asks for the same hold', async () => {
  const shares = createHoldShares(HOLD, 2)
  const exact = { ...HOLD, amountNano: '620', outputTokens: 30 }
  const asked: Hold[] = []
  const ask = async (whole: Hold) => {
    asked.push(whole)
    return exact
  }
  const [first] = await Promise.all([shares.replace(1, 9, ask), shares.replace(0, 9, ask)])
  expect(first).toMatchObject({ amountNano: '620', outputTokens: 15, otherTokens: 15 })
  shares.grown(1, { ...exact, amountNano: '700', outputTokens: 50 })
  const second = await shares.replace(0, 8, ask)
  expect(second).toMatchObject({ amountNano: '700', outputTokens: 15, otherTokens: 35 })
  expect(asked).toEqual([HOLD])
})

test('a choice that counts more tokens asks for all output that is granted, and leaves the running ones their shares', async () => {
  const shares = createHoldShares({ ...HOLD, outputTokens: 60 }, 3)
  shares.claimed()
  shares.grown(0, { ...HOLD, amountNano: '700', outputTokens: 100 })
  shares.completed(2, used(14))
  const shorter = (outputTokens: number) => async (whole: Hold) => {
    expect(whole.outputTokens).toBe(100)
    return { ...whole, amountNano: '710', outputTokens }
  }
  expect(await shares.replace(1, 9, shorter(90))).toMatchObject({ outputTokens: 16, otherTokens: 74 })
  expect(shares.of(0)).toMatchObject({ amountNano: '710', outputTokens: 60, otherTokens: 30 })
  expect(shares.mayGetSpare()).toBe(true)
  expect(shares.takeSpare(0, 9)).toBe(0)
})

test('what a complete choice has left goes to the choices that ask, before the hold grows', () => {
  const shares = createHoldShares({ ...HOLD, outputTokens: 90 }, 3)
  expect([shares.takeSpare(0, 8), shares.mayGetSpare()]).toEqual([0, true])
  shares.completed(2, used(18))
  expect([shares.takeSpare(0, 8), shares.takeSpare(1, 8), shares.takeSpare(1, 8)]).toEqual([8, 4, 0])
  expect(shares.of(0)).toMatchObject({ amountNano: '500', outputTokens: 38, otherTokens: 52 })
  expect(shares.of(1)).toMatchObject({ outputTokens: 34, otherTokens: 56 })
  shares.completed(1, used(34))
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

test('of a hold that lacks a third of its output, what a complete choice leaves lacks a third as well', () => {
  // 60 tokens of prompt leave 120 nano-credits for 60 of 90 tokens.
  const lacking = { ...HOLD, amountNano: '180', outputTokens: 90 }
  const spareAfter = (completionTokens: number) => {
    const shares = createHoldShares(lacking, 3)
    shares.completed(0, used(completionTokens, 60))
    return shares.takeSpare(1, 100)
  }
  expect([0, 10, 20].map(spareAfter)).toEqual([30, 15, 0])
})

test('what choices deliver never costs more than the hold, although the prompt was estimated too low', () => {
  const price = integer({ min: 1, max: 3_000_000 }).map(BigInt)
  const step = record({
    choice: integer({ min: 0, max: 2 }),
    part: integer({ min: 0, max: 10 }),
    more: integer({ min: 0, max: 40 }),
  })
  const prices = record({ inputPriceNano: price, outputPriceNano: price, cachedInputPriceNano: price })
  const prompts = record({ estimated: integer({ min: 0, max: 50 }), prompt: integer({ min: 0, max: 60 }) })
  assert(
    property(prices, prompts, array(step, { maxLength: 12 }), (priced, { estimated, prompt }, steps) => {
      const cost = (input: number, output: number) => priceTokens({ input, cachedInput: 0, output }, priced)
      const toHold = (outputTokens: number): Hold => ({
        ...HOLD,
        amountNano: String(cost(estimated, outputTokens)),
        inputPriceNano: String(priced.inputPriceNano),
        outputPriceNano: String(priced.outputPriceNano),
        outputTokens,
        clamped: true,
      })
      const shares = createHoldShares(toHold(30), 3)
      const paidBy = (choice: number) => paidOutput(shares.of(choice), { input: prompt, limit: 1_000 })
      const delivered = [0, 1, 2].map(paidBy)
      const most = () => delivered.reduce((sum, tokens) => sum + tokens, 0)
      for (const { choice, part, more } of steps) {
        if (shares.isComplete(choice)) continue
        if (part < 3) {
          delivered[choice] = Math.floor(((delivered[choice] ?? 0) * part) / 3)
          shares.completed(choice, used(delivered[choice], prompt))
        } else {
          if (shares.takeSpare(choice, more) === 0)
            shares.grown(choice, toHold(shares.whole().outputTokens + more))
          delivered[choice] = Math.max(delivered[choice] ?? 0, paidBy(choice))
        }
        expect(most() === 0 || cost(prompt, most()) <= BigInt(shares.whole().amountNano)).toBe(true)
      }
    }),
  )
})
