import { expect, test } from 'vitest'
import { createInputEstimate } from '#apps/gateway/generation/estimate-input.ts'
import { createReserve } from '#apps/gateway/generation/reserve.ts'
import type { HoldAnswer, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { generationCall } from '../../../../support/generation-call.ts'

const TERMS = { outputTokens: 100, deadlineMs: 1_000 }

function setUp(answer: () => HoldAnswer) {
  const calls: ReserveCall[] = []
  const released: string[] = []
  const reserve = createReserve({
    billing: {
      async reserve(call) {
        calls.push(call)
        return answer()
      },
      replace: async () => answer(),
    },
    inputEstimate: createInputEstimate(),
    release: (id) => released.push(id),
  })
  return { reserve, calls, released }
}

const granted: HoldAnswer = {
  status: 'granted',
  amountNano: toNanoCredits(500n),
  outputTokens: 100,
  clamped: true,
  prices: { inputPriceNano: 1n, cachedInputPriceNano: 1n, outputPriceNano: 2n },
}

test('a granted hold travels as text, with the prices that turn it into tokens', async () => {
  const { reserve, released } = setUp(() => granted)
  expect(await reserve.first(generationCall(), TERMS)).toEqual({
    amountNano: '500',
    inputPriceNano: '1',
    outputPriceNano: '2',
    clamped: true,
  })
  expect(released).toEqual([])
})

test('an estimate beyond the context window does not refuse what may fit', async () => {
  const { reserve, calls } = setUp(() => granted)
  const { request } = generationCall()
  const long = { ...request, messages: [{ role: 'user' as const, content: 'x'.repeat(100_000) }] }
  await reserve.first(generationCall({ request: long }), TERMS)
  expect(calls[0]?.inputTokens).toBe(4_096 - 100)
})

test('without an answer it is 503, and what may have been reserved is given back', async () => {
  const call = generationCall()
  const { reserve, released } = setUp(() => {
    throw new BillingUnavailable('no answer within 2000 ms')
  })
  await expect(reserve.first(call, TERMS)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(released).toEqual([call.id])
})

test('too little money is 402, and says what is available and what is held', async () => {
  const { reserve, released } = setUp(() => ({
    status: 'insufficient-credits',
    availableNano: toNanoCredits(1_500_000_000n),
    heldNano: toNanoCredits(7n),
  }))
  await expect(reserve.first(generationCall(), TERMS)).rejects.toMatchObject({
    code: 'insufficient_credits',
    message: 'Not enough credits for this request: 1.5 available, 0.000000007 held by running requests.',
  })
  expect(released).toEqual([])
})

test('a key that was revoked meanwhile is 401', async () => {
  const { reserve } = setUp(() => ({ status: 'key-invalid' }))
  await expect(reserve.first(generationCall(), TERMS)).rejects.toMatchObject({ code: 'invalid_key' })
})
