import { assert, bigInt, integer, pre, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { capOutput, coversInput, fitOutput, paidOutput } from '#apps/worker/run/paid/cap-output.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { generationJob } from '../../../../../support/generation-job.ts'

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
  const tokens = { prompt: 10, rendered: 10, written: [0], ended: 0 }
  expect(fitOutput(job(10, false), tokens, 4_096)).toEqual({
    status: 'fits',
    maxTokens: [1],
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
    fitOutput(job, { prompt: 10, rendered: 10, written: [0], ended: 0, ...tokens }, engineWindow)
  expect(fit({})).toMatchObject({ status: 'fits', maxTokens: [100] })
  expect(fit({ written: [60] })).toMatchObject({ status: 'fits', maxTokens: [40] })
  expect(fit({ written: [100] })).toMatchObject({ status: 'fits', maxTokens: [0] })
  expect(fit({ written: [130] })).toMatchObject({ status: 'fits', maxTokens: [0] })
  expect(fit({ written: [60] })).toMatchObject({ mostTokens: 100, paidTokens: 100 })
  expect(fit({ rendered: 20, written: [60] }, 90)).toMatchObject({ status: 'fits', maxTokens: [10] })
})

test('a larger engine is asked for only where the model allows its window', () => {
  const tokens = { prompt: 10, rendered: 10, written: [20], ended: 0 }
  const fit = (contextWindow: number, engineWindow: number) =>
    fitOutput(generationJob({ maxOutputTokens: 100, contextWindow }), tokens, engineWindow)
  expect(fit(4_096, 30)).toEqual({ status: 'window-too-small', window: 31 })
  expect(fit(4_096, 31)).toMatchObject({ status: 'fits', maxTokens: [1] })
  expect(fit(30, 30)).toMatchObject({ status: 'fits', maxTokens: [0] })
  expect(fit(10, 5)).toEqual({ status: 'prompt-too-long' })
})

test('an input without output is covered to the nano-credit, also where output has a price', () => {
  expect(coversInput(hold(10, false), 10)).toBe(true)
  expect(coversInput(hold(10, false), 11)).toBe(false)
  expect(coversInput({ ...hold(1, false), inputPriceNano: '1' }, 1_000_000)).toBe(true)
  expect(coversInput({ ...hold(1, false), inputPriceNano: '1' }, 1_000_001)).toBe(false)
})

test('a hold pays the output of all choices together, and at least a token of each', () => {
  const job = (amount: number) =>
    generationJob({ hold: hold(amount, true, 300), maxOutputTokens: 100, choices: 3 })
  expect(capOutput(job(1_000), 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 300 })
  expect(capOutput(job(16), 10, 4_096)).toEqual({ status: 'capped', maxTokens: 100, paidTokens: 3 })
  expect(capOutput(job(15), 10, 4_096)).toEqual({ status: 'insufficient-credits' })
  const exact = { ...job(609), hold: hold(609, false, 300) }
  expect(capOutput(exact, 10, 4_096)).toEqual({ status: 'hold-too-small' })
})

test('each open choice has its own rest, and an ended one counts with what it has written', () => {
  const job = generationJob({ maxOutputTokens: 100, choices: 3 })
  const tokens = { prompt: 10, rendered: 10, written: [60, 100], ended: 7 }
  expect(fitOutput(job, tokens, 4_096)).toMatchObject({ maxTokens: [40, 0], mostTokens: 207 })
  // Only the choice that has a rest needs room.
  expect(fitOutput(job, tokens, 75)).toMatchObject({ maxTokens: [5, 0] })
  expect(fitOutput(job, tokens, 70)).toEqual({ status: 'window-too-small', window: 71 })
})
