import { assert, bigInt, integer, pre, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { capOutput, coversInput } from '#apps/worker/cap-output.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { generationJob } from '../../../support/generation-job.ts'

const PRICES = { inputPriceNano: '1000000', outputPriceNano: '2000000' }
const hold = (amountNano: number, clamped: boolean) => ({
  ...PRICES,
  amountNano: String(amountNano),
  clamped,
  receipt: 'receipt',
})

test('a hold that pays everything leaves the limit to the caller and the context window', () => {
  const job = generationJob({ hold: hold(1_000_000, false), maxOutputTokens: 100 })
  expect(capOutput(job, 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100 })
  expect(capOutput(job, 4_090, 4_096)).toEqual({ status: 'capped', maxTokens: 6 })
})

test('a prompt that fills the context window leaves no room', () => {
  const job = generationJob({ hold: hold(1_000_000, true) })
  expect(capOutput(job, 4_096, 4_096)).toEqual({ status: 'prompt-too-long' })
  expect(capOutput(job, 4_095, 4_096)).toEqual({ status: 'capped', maxTokens: 1 })
})

test('a hold that money had clamped caps the output', () => {
  const job = generationJob({ hold: hold(30, true), maxOutputTokens: 100 })
  expect(capOutput(job, 10, 4_096)).toEqual({ status: 'capped', maxTokens: 10 })
})

test('a clamped hold that does not pay one token is a matter of money', () => {
  expect(capOutput(generationJob({ hold: hold(11, true) }), 10, 4_096)).toEqual({
    status: 'insufficient-credits',
  })
  expect(capOutput(generationJob({ hold: hold(5, true) }), 10, 4_096)).toEqual({
    status: 'insufficient-credits',
  })
})

test('a too low estimate that money had not clamped asks for an exact hold, however little is missing', () => {
  const enough = 10 + 2 * 100
  const job = (amount: number) => generationJob({ hold: hold(amount, false), maxOutputTokens: 100 })
  expect(capOutput(job(enough), 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100 })
  expect(capOutput(job(enough - 1), 10, 4_096)).toEqual({ status: 'hold-too-small' })
})

test('using up the cap never costs more than the hold', () => {
  assert(
    property(
      record({
        amount: bigInt({ min: 0n, max: 10n ** 12n }),
        input: integer({ min: 0, max: 200_000 }),
        inputPrice: bigInt({ min: 0n, max: 10n ** 13n }),
        outputPrice: bigInt({ min: 0n, max: 10n ** 13n }),
      }),
      ({ amount, input, inputPrice, outputPrice }) => {
        const prices = { inputPriceNano: String(inputPrice), outputPriceNano: String(outputPrice) }
        const job = generationJob({
          hold: { amountNano: String(amount), ...prices, clamped: true, receipt: 'receipt' },
          maxOutputTokens: 1_000_000,
        })
        const cap = capOutput(job, input, 1_000_000)
        pre(cap.status === 'capped')
        const cost = priceTokens(
          { input, cachedInput: 0, output: cap.maxTokens },
          { inputPriceNano: inputPrice, cachedInputPriceNano: inputPrice, outputPriceNano: outputPrice },
        )
        expect(cost).toBeLessThanOrEqual(amount)
      },
    ),
  )
})

test('an input without output is covered to the nano-credit, also where output has a price', () => {
  expect(coversInput(hold(10, false), 10)).toBe(true)
  expect(coversInput(hold(10, false), 11)).toBe(false)
  expect(coversInput({ ...hold(1, false), inputPriceNano: '1' }, 1_000_000)).toBe(true)
  expect(coversInput({ ...hold(1, false), inputPriceNano: '1' }, 1_000_001)).toBe(false)
})
