import { expect } from 'vitest'
import { CHAT, only, reserveCall } from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'
import { hold, reserve, settle } from '../support/single-calls.ts'

// The model 'chat' costs 2 nano-credits for an input token and 10 for an output token. An answer has at most 1,000
// tokens, within a window of 4,096.

const SEVERAL = { choices: 4, inputTokens: 100 }

test('one hold pays for the input once and for the output of all choices', async ({ database }) => {
  const { accountId, keyId } = await database.createAccount(100_000n)
  const call = reserveCall(keyId, { ...SEVERAL, outputTokens: 4_000 })
  expect(await reserve(database, call)).toMatchObject({ amountNano: 40_200n, outputTokens: 4_000 })
  expect(await database.balance(accountId)).toEqual({ posted: 100_000n, held: 40_200n, openHolds: 1 })
  await settle(database, call.reservationId, { promptTokens: 100, cachedTokens: 0, completionTokens: 30 })
  expect(await database.balance(accountId)).toEqual({ posted: 99_500n, held: 0n, openHolds: 0 })
})

test('the limits of the model are limits of each choice', async ({ database }) => {
  const { keyId } = await database.createAccount(1_000_000n)
  const long = reserveCall(keyId, { ...SEVERAL, outputTokens: 9_000 })
  expect(await reserve(database, long)).toMatchObject({
    outputTokens: 4 * CHAT.maxOutputTokens,
    clamped: false,
  })
  const full = reserveCall(keyId, { ...SEVERAL, inputTokens: 4_000, outputTokens: 2_000 })
  expect(await reserve(database, full)).toMatchObject({ outputTokens: 4 * 96, clamped: false })
})

test('a hold on a small balance pays for the expected output of all choices, and grows to their limit', async ({
  database,
}) => {
  const { accountId, keyId } = await database.createAccount(50_000n)
  const rolling = { expectedTokens: 400, leastTokens: 400 }
  const { reservationId, answer } = await hold(database, keyId, {
    ...SEVERAL,
    outputTokens: 4_000,
    rolling,
  })
  expect(answer).toMatchObject({ amountNano: 4_200n, outputTokens: 400, clamped: false })
  const extend = async (outputTokens: number) =>
    only(await database.money.resize([{ reservationId, outputTokens, choices: 4 }]))
  expect(await extend(2_500)).toMatchObject({ amountNano: 25_200n, outputTokens: 2_500 })
  expect(await extend(9_000)).toMatchObject({ amountNano: 40_200n, outputTokens: 4_000, clamped: false })
  expect(await database.balance(accountId)).toMatchObject({ held: 40_200n, openHolds: 1 })
})

test('a hold is replaced by one for the counted input and the output of all choices', async ({
  database,
}) => {
  const { keyId } = await database.createAccount(100_000n)
  const { reservationId } = await hold(database, keyId, { ...SEVERAL, outputTokens: 4_000 })
  const [answer] = await database.money.resize([
    { reservationId, inputTokens: 300, outputTokens: 4_000, choices: 4 },
  ])
  expect(answer).toMatchObject({ status: 'granted', amountNano: 40_600n, outputTokens: 4_000 })
})
