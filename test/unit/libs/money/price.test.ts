import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'
import { priceTokens } from '#test/support/price-tokens.ts'

const PRICES = { inputPriceNano: 2_000_000n, cachedInputPriceNano: 500_000n, outputPriceNano: 6_000_000n }

describe('priceTokens', () => {
  test('sums the products and rounds up once', () => {
    const prices = { inputPriceNano: 1n, cachedInputPriceNano: 1n, outputPriceNano: 1n }
    expect(priceTokens({ input: 1, cachedInput: 0, output: 1 }, prices)).toBe(1n)
    expect(priceTokens({ input: 500_000, cachedInput: 0, output: 500_000 }, prices)).toBe(1n)
    expect(priceTokens({ input: 500_000, cachedInput: 0, output: 500_001 }, prices)).toBe(2n)
  })

  test('charges cached input tokens at their own price', () => {
    expect(priceTokens({ input: 100, cachedInput: 60, output: 10 }, PRICES)).toBe(80n + 30n + 60n)
  })

  test('nothing costs nothing, and one token of any price costs at least one nano-credit', () => {
    expect(priceTokens({ input: 0, cachedInput: 0, output: 0 }, PRICES)).toBe(0n)
    const cheap = { inputPriceNano: 1n, cachedInputPriceNano: 1n, outputPriceNano: 0n }
    expect(priceTokens({ input: 1, cachedInput: 0, output: 0 }, cheap)).toBe(1n)
  })

  test('does not round amounts beyond what a JavaScript number holds', () => {
    const dear = { inputPriceNano: 0n, cachedInputPriceNano: 0n, outputPriceNano: 999_999_999_999_999_999n }
    expect(priceTokens({ input: 0, cachedInput: 0, output: 1_000_000 }, dear)).toBe(999_999_999_999_999_999n)
  })
})

describe('affordableOutput', () => {
  test('is what is left after the input', () => {
    const amount = toNanoCredits(260n)
    expect(affordableOutput(amount, PRICES, { input: 100, limit: 1_000 })).toBe(10)
    expect(affordableOutput(amount, PRICES, { input: 100, limit: 3 })).toBe(3)
  })

  test('is null when the input alone costs more', () => {
    expect(affordableOutput(toNanoCredits(199n), PRICES, { input: 100, limit: 5 })).toBeNull()
    expect(affordableOutput(toNanoCredits(200n), PRICES, { input: 100, limit: 5 })).toBe(0)
  })

  test('a free output is bounded by the limit only', () => {
    const free = { inputPriceNano: 1_000_000n, outputPriceNano: 0n }
    expect(affordableOutput(toNanoCredits(5n), free, { input: 5, limit: 77 })).toBe(77)
  })

  test('is the most that the amount pays: one token more would cost more than the amount', () => {
    const price = fc.bigInt({ min: 1n, max: 10n ** 12n })
    const count = fc.nat({ max: 1_000_000 })
    const cases = fc.record({
      amount: fc.bigInt({ min: 0n, max: 10n ** 15n }).map(toNanoCredits),
      prices: fc.record({
        inputPriceNano: price,
        outputPriceNano: price,
        cachedInputPriceNano: fc.constant(0n),
      }),
      input: count,
      limit: count,
    })
    const isExact = fc.property(cases, ({ amount, prices, input, limit }) => {
      const costOf = (output: number) => priceTokens({ input, cachedInput: 0, output }, prices)
      const output = affordableOutput(amount, prices, { input, limit })
      if (output === null) return costOf(0) > amount
      return costOf(output) <= amount && (output === limit || costOf(output + 1) > amount)
    })
    expect(fc.defaultReportMessage(fc.check(isExact))).toBeUndefined()
  })
})
