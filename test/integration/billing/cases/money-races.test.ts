import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { only, reserveCall, settlement } from '../support/billing-database.ts'
import {
  expireDuringExtend,
  reserveBehindLock,
  reserveDuringReleases,
  settleDuringRelease,
} from '../support/parallel-calls.ts'
import { test } from '../support/billing-test.ts'

// Every call is a separate transaction on a separate connection, as if many replicas made the calls.

test('twenty parallel reserves on credits for ten get ten holds', async ({ database }) => {
  for (let burst = 0; burst < 10; burst += 1) {
    const { accountId, keyId } = await database.createAccount(7_000n)
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => only(await database.money.reserve([reserveCall(keyId)]))),
    )
    expect(answers.filter(({ status }) => status === 'granted')).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 'insufficient-credits')).toHaveLength(10)
    expect(await database.balance(accountId)).toEqual({ posted: 7_000n, held: 7_000n, openHolds: 10 })
  }
})

test("twenty parallel reserves on a key's limit for five get five holds", async ({ database }) => {
  const answers = await reserveBehindLock(database)
  expect(answers.sort()).toEqual([...Array(5).fill('granted'), ...Array(15).fill('key-limit')])
})

test('an expiry that waits for an extend leaves the hold that was given more time', async ({ database }) => {
  expect(await expireDuringExtend(database)).toBe('held')
})

test('the same reserve at two replicas at once holds once', async ({ database }) => {
  const { accountId, keyId } = await database.createAccount(7_000n)
  const call = reserveCall(keyId)
  const answers = await Promise.all(
    Array.from({ length: 6 }, async () => only(await database.money.reserve([call]))),
  )
  expect(answers).toEqual(answers.map(() => answers[0]))
  expect(await database.balance(accountId)).toMatchObject({ held: 700n, openHolds: 1 })
})

test('the same id at once for two accounts holds for one of them, and counts for its key alone', async ({
  database,
}) => {
  const spendLimit = { amountNano: '7000', period: 'total' }
  const keys = await Promise.all(
    ['first', 'second'].map(async () => {
      const { accountId } = await database.createAccount(7_000n)
      return await database.operator.createKey(accountId, { spendLimit })
    }),
  )
  for (let round = 0; round < 20; round += 1) {
    const reservationId = randomUUID()
    const statuses = await Promise.all(
      keys.map(
        async ({ keyId }) =>
          only(await database.money.reserve([reserveCall(keyId, { reservationId })])).status,
      ),
    )
    expect(statuses.sort()).toEqual(['conflict', 'granted'])
    await database.expectReconciled()
    await database.money.release([reservationId])
  }
})

test('a release that races its reserve never leaves money held', async ({ database }) => {
  const { accountId, keyId } = await database.createAccount(70_000n)
  for (let round = 0; round < 30; round += 1) {
    const call = reserveCall(keyId)
    const [, released] = await Promise.all([
      database.money.reserve([call]),
      database.money.release([call.reservationId]),
    ])
    expect(released).toEqual([true])
  }
  expect(await database.balance(accountId)).toMatchObject({ held: 0n, openHolds: 0 })
})

test('one settlement at many replicas at once is charged once', async ({ database }) => {
  const { accountId, keyId } = await database.createAccount(7_000n)
  const call = reserveCall(keyId)
  await database.money.reserve([call])
  const answers = await Promise.all(
    Array.from({ length: 6 }, async () =>
      only(await database.money.settle([settlement(call.reservationId)])),
    ),
  )
  expect(answers.map(({ result }) => result).sort()).toEqual(['charged', ...Array(5).fill('replayed')])
  expect(await database.balance(accountId)).toEqual({ posted: 6_300n, held: 0n, openHolds: 0 })
})

test('batches that meet the same accounts in opposite orders do not block each other', async ({
  database,
}) => {
  const accounts = await Promise.all(Array.from({ length: 8 }, () => database.createAccount(100_000n)))
  const batches = Array.from({ length: 12 }, async (_, index) => {
    const order = index % 2 === 0 ? accounts : accounts.toReversed()
    const calls = order.map(({ keyId }) => reserveCall(keyId, { inputTokens: 1, outputTokens: 1 }))
    await database.money.reserve(calls)
    const settled = await database.money.settle(
      calls.toReversed().map((call) => settlement(call.reservationId)),
    )
    return settled.map(({ result }) => result)
  })
  expect(new Set((await Promise.all(batches)).flat())).toEqual(new Set(['charged']))
})

test('a batch of reserves and a release of the same ids do not block each other', async ({ database }) => {
  expect(await reserveDuringReleases(database)).toEqual(['conflict', 'conflict'])
})

test('a settlement that waits for the release of its hold charges nothing and frees nothing again', async ({
  database,
}) => {
  expect(await settleDuringRelease(database)).toEqual({ result: 'released', held: 0n })
})

test('single settlements and batches, releases and reserves of one account at once leave its books right', async ({
  database,
}) => {
  const { accountId, keyId } = await database.createAccount(700_000n)
  const rounds = Array.from({ length: 12 }, async (_, index) => {
    const calls = [reserveCall(keyId), reserveCall(keyId)]
    if (index % 2 === 0) await database.money.reserve(calls)
    else for (const call of calls) await database.money.reserve([call])
    const entries = calls.map(({ reservationId }) => settlement(reservationId, { completionTokens: 10 }))
    const [first, second] = entries.map((entry) => [entry])
    await Promise.all([
      database.money.settle(entries),
      database.money.settle(first ?? []),
      database.money.release(calls.slice(1).map(({ reservationId }) => reservationId)),
      database.money.settle(second ?? []),
    ])
  })
  await Promise.all(rounds)
  expect(await database.balance(accountId)).toMatchObject({ held: 0n, openHolds: 0 })
})
