import { array, assert, bigInt, integer, pre, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { capOutput, coversInput, fitOutput, paidOutput } from '#apps/worker/run/cap-output.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const PRICES = { inputPriceNano: '1000000', outputPriceNano: '2000000' }
const hold = (amountNano: number, clamped: boolean, outputTokens = 100) => ({
  ...PRICES,
  amountNano: String(amountNano),
  outputTokens,
  clamped,
  receipt: 'receipt',
})

test('a hold that pays everything leaves the limit to the caller and the context window', () => {
  const job = generationJob({ hold: hold(1_000_000, false), maxOutputTokens: 100 })
  expect(capOutput(job, 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 100 })
  expect(capOutput(job, 4_090, 4_096)).toEqual({ status: 'capped', maxTokens: 6, paidTokens: 6 })
})

test('a prompt that fills the context window leaves no room', () => {
  const job = generationJob({ hold: hold(1_000_000, true) })
  expect(capOutput(job, 4_096, 4_096)).toEqual({ status: 'prompt-too-long' })
  expect(capOutput(job, 4_095, 4_096)).toEqual({ status: 'capped', maxTokens: 1, paidTokens: 1 })
})

test('a limit of no output asks the engine for one token, and the hold pays the prompt alone', () => {
  const job = (amount: number, clamped: boolean) =>
    generationJob({ hold: hold(amount, clamped, 0), maxOutputTokens: 0 })
  const tokens = { prompt: 10, rendered: 10, written: 0 }
  expect(fitOutput(job(10, false), tokens, 4_096)).toEqual({
    status: 'fits',
    maxTokens: 1,
    paidTokens: 0,
    mostTokens: 0,
  })
  expect(fitOutput(job(9, false), tokens, 4_096)).toEqual({ status: 'hold-too-small' })
  expect(fitOutput(job(9, true), tokens, 4_096)).toEqual({ status: 'insufficient-credits' })
  expect(fitOutput(job(10, false), tokens, 10)).toEqual({ status: 'window-too-small', window: 11 })
  expect(capOutput(job(10_000, false), 4_096, 4_096)).toEqual({ status: 'prompt-too-long' })
})

test('a hold that money had clamped pays a part of the output, and may grow', () => {
  const job = generationJob({ hold: hold(30, true), maxOutputTokens: 100 })
  expect(capOutput(job, 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 10 })
})

test('a hold for the expected output is large enough if it pays that output', () => {
  const job = (amount: number) => generationJob({ hold: hold(amount, false, 20), maxOutputTokens: 100 })
  expect(capOutput(job(50), 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 20 })
  expect(capOutput(job(49), 10, 4_096)).toEqual({ status: 'hold-too-small' })
  // The prompt is shorter than estimated.
  expect(capOutput(job(70), 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 30 })
})

test('a larger amount pays more tokens, up to the limit', () => {
  const tokens = { input: 10, limit: 100 }
  expect(
    ['9', '11', '12', '209', '210', '9223372036854775807'].map((amountNano) =>
      paidOutput({ ...hold(0, false), amountNano }, tokens),
    ),
  ).toEqual([0, 0, 1, 99, 100, 100])
})

test('a hold that choices share pays for the share of each, with one rounding of the price', () => {
  // 10 tokens of prompt and 30 of output, of which this choice has 12.
  const shared = { ...hold(70, false, 12), otherTokens: 18 }
  const job = generationJob({ hold: shared, maxOutputTokens: 100 })
  expect(capOutput(job, 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 12 })
  // The prompt is shorter than estimated: what it leaves is not shared out, or each choice would spend it.
  expect(capOutput(job, 4, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 12 })
  expect(capOutput(job, 11, 4_096)).toEqual({ status: 'hold-too-small' })
  const clamped = { ...job, hold: { ...shared, clamped: true } }
  expect(capOutput(clamped, 12, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 11 })
  // 20 nano-credits are left for 10 of 30 tokens: the shares bear what is missing in proportion.
  expect(capOutput(clamped, 50, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 4 })
  expect(capOutput(clamped, 68, 4_096)).toEqual({ status: 'insufficient-credits' })
  expect(capOutput({ ...job, maxOutputTokens: 5 }, 10, 4_096)).toMatchObject({ paidTokens: 5 })
})

test('the shares of one hold never pay for more than the hold, whatever the prompt', () => {
  const price = bigInt({ min: 0n, max: 3_000_000n })
  assert(
    property(
      record({ inputPriceNano: price, outputPriceNano: price, cachedInputPriceNano: price }),
      array(integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 8 }),
      record({ estimated: integer({ min: 0, max: 50 }), prompt: integer({ min: 0, max: 60 }) }),
      (prices, shares, { estimated, prompt }) => {
        const all = shares.reduce((sum, share) => sum + share, 0)
        const amount = priceTokens({ input: estimated, cachedInput: 0, output: all }, prices)
        const paid = shares.map((outputTokens) =>
          paidOutput(
            {
              ...hold(0, true, outputTokens),
              amountNano: String(amount),
              inputPriceNano: String(prices.inputPriceNano),
              outputPriceNano: String(prices.outputPriceNano),
              otherTokens: all - outputTokens,
            },
            { input: prompt, limit: 100 },
          ),
        )
        const output = paid.reduce((sum, tokens) => sum + tokens, 0)
        pre(output > 0)
        const cost = priceTokens({ input: prompt, cachedInput: 0, output }, prices)
        expect(cost <= amount).toBe(true)
        const isEnough = prompt <= estimated && prices.outputPriceNano > 0n
        expect(isEnough ? paid : shares).toEqual(shares)
      },
    ),
  )
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
  expect(capOutput(job(enough), 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 100 })
  expect(capOutput(job(enough - 1), 10, 4_096)).toEqual({ status: 'hold-too-small' })
})

test('the paid tokens never cost more than the hold', () => {
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
          hold: { amountNano: String(amount), ...prices, outputTokens: 1, clamped: true, receipt: 'receipt' },
          maxOutputTokens: 1_000_000,
        })
        const cap = capOutput(job, input, 1_000_000)
        pre(cap.status === 'capped')
        const cost = priceTokens(
          { input, cachedInput: 0, output: cap.paidTokens },
          { inputPriceNano: inputPrice, cachedInputPriceNano: inputPrice, outputPriceNano: outputPrice },
        )
        expect(cost).toBeLessThanOrEqual(amount)
      },
    ),
  )
})

test('what is written counts towards the cap, and the prompt as it is rendered now towards the window', () => {
  const job = generationJob({ maxOutputTokens: 100 })
  const fit = (tokens: Partial<Parameters<typeof fitOutput>[1]>, engineWindow = 4_096) =>
    fitOutput(job, { prompt: 10, rendered: 10, written: 0, ...tokens }, engineWindow)
  expect(fit({})).toMatchObject({ status: 'fits', maxTokens: 100 })
  expect(fit({ written: 60 })).toMatchObject({ status: 'fits', maxTokens: 40 })
  expect(fit({ written: 100 })).toMatchObject({ status: 'fits', maxTokens: 0 })
  expect(fit({ written: 130 })).toMatchObject({ status: 'fits', maxTokens: 0 })
  expect(fit({ written: 60 })).toMatchObject({ mostTokens: 100, paidTokens: 100 })
  expect(fit({ rendered: 20, written: 60 }, 90)).toMatchObject({ status: 'fits', maxTokens: 10 })
})

test('a larger engine is asked for only where the model allows its window', () => {
  const tokens = { prompt: 10, rendered: 10, written: 20 }
  const fit = (contextWindow: number, engineWindow: number) =>
    fitOutput(generationJob({ maxOutputTokens: 100, contextWindow }), tokens, engineWindow)
  expect(fit(4_096, 30)).toEqual({ status: 'window-too-small', window: 31 })
  expect(fit(4_096, 31)).toMatchObject({ status: 'fits', maxTokens: 1 })
  expect(fit(30, 30)).toMatchObject({ status: 'fits', maxTokens: 0 })
  expect(fit(10, 5)).toEqual({ status: 'prompt-too-long' })
})

test('an input without output is covered to the nano-credit, also where output has a price', () => {
  expect(coversInput(hold(10, false), 10)).toBe(true)
  expect(coversInput(hold(10, false), 11)).toBe(false)
  expect(coversInput({ ...hold(1, false), inputPriceNano: '1' }, 1_000_000)).toBe(true)
  expect(coversInput({ ...hold(1, false), inputPriceNano: '1' }, 1_000_001)).toBe(false)
})
