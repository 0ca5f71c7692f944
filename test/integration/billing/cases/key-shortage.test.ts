import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { findUsableKeys, readKeyChanges } from '#apps/billing/database/keys.ts'
import { hashApiKey } from '#libs/api-key/api-key.ts'
import type { KeyShortage } from '#libs/billing-client/billing-calls.ts'
import {
  CHAT,
  EMBED,
  ODD,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'

// One input token and one output token together cost 12 nano-credits with 'chat', 2 with 'odd' and 2 with 'embed'.

async function shortageOf(
  database: BillingDatabase,
  secret: string,
): Promise<KeyShortage | null | undefined> {
  const { servicePool, clock } = database
  const [key] = await findUsableKeys(servicePool, [hashApiKey(secret)], clock.nowMs)
  return key?.shortage
}

const limitKey = async (database: BillingDatabase, keyId: string, fields: object) =>
  await database.operator.ask('PATCH', `/keys/${keyId}`, fields)

describe('a key can pay for nothing', () => {
  test('when its account has less than one token of the cheapest model costs', async ({ database }) => {
    for (const [nano, shortage] of [
      [0n, { of: 'account', availableNano: 0n, heldNano: 0n }],
      [1n, { of: 'account', availableNano: 1n, heldNano: 0n }],
      [2n, null],
    ] as const) {
      const { secret } = await database.createAccount(nano)
      expect(await shortageOf(database, secret)).toEqual(shortage)
    }
  })

  test('when it may use dearer models alone', async ({ database }) => {
    const { keyId, secret } = await database.createAccount(11n)
    await limitKey(database, keyId, { models: ['chat'] })
    expect(await shortageOf(database, secret)).toMatchObject({ of: 'account' })
    await limitKey(database, keyId, { models: ['chat', 'embed'] })
    expect(await shortageOf(database, secret)).toBeNull()
  })

  test('when its own limit is spent, until the next period begins', async ({ database }) => {
    const { keyId, secret } = await database.createAccount(10_000n)
    await limitKey(database, keyId, { spendLimit: { amountNano: '700', period: 'day' } })
    const call = reserveCall(keyId)
    await database.money.reserve([call])
    await database.money.settle([settlement(call.reservationId)])
    expect(await shortageOf(database, secret)).toEqual({ of: 'key-limit', availableNano: 0n, heldNano: 0n })
    database.clock.nowMs += 24 * 3_600_000
    expect(await shortageOf(database, secret)).toBeNull()
  })

  test('not when the rest is held: a released hold would make it able again, and nobody would learn of it', async ({
    database,
  }) => {
    const { keyId, secret } = await database.createAccount(700n)
    const call = reserveCall(keyId)
    await database.money.reserve([call])
    expect(await database.balance((await accountOf(database, keyId)) ?? '')).toMatchObject({
      posted: 700n,
      held: 700n,
    })
    expect(await shortageOf(database, secret)).toBeNull()
    await database.money.release([call.reservationId])
  })

  test('never while all models are free', async ({ database }) => {
    const { secret } = await database.createAccount(0n)
    const free = { inputPriceNano: '0', cachedInputPriceNano: '0', outputPriceNano: '0' }
    database.clock.nowMs += 1_000
    await database.loadModels([CHAT, ODD, EMBED].map((model) => ({ ...model, ...free })))
    expect(await shortageOf(database, secret)).toBeNull()
    database.clock.nowMs += 1_000
    await database.loadModels([CHAT, ODD, EMBED])
  })
})

test('many hashes are looked up in one query, each with its own answer', async ({ database }) => {
  const accounts = await Promise.all([database.createAccount(0n), database.createAccount(9n)])
  const sha256s = [
    hashApiKey('nobody'),
    ...accounts.map(({ secret }) => hashApiKey(secret)),
    hashApiKey('no'),
  ]
  const found = await findUsableKeys(database.servicePool, sha256s, database.clock.nowMs)
  expect(found.map((key) => key?.keyId ?? null)).toEqual([null, accounts[0]?.keyId, accounts[1]?.keyId, null])
})

describe('credits that an account gets', () => {
  const changesAfter = async (database: BillingDatabase, version: bigint) =>
    await readKeyChanges(database.servicePool, version, database.clock.nowMs)

  test('are a change of its active keys, which can pay again', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(0n)
    const revoked = await database.operator.createKey(accountId)
    await database.operator.revokeKey(revoked.keyId)
    const { version } = await changesAfter(database, 0n)
    await database.operator.topUp(accountId, { nano: 1_000n, idempotencyKey: 'first' })
    const { keys } = await changesAfter(database, version)
    expect(keys).toMatchObject([{ keyId, shortage: null }])
  })

  test('are announced, unlike charges, which come with every request', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { version } = await changesAfter(database, 0n)
    const call = reserveCall(keyId)
    await database.money.reserve([call])
    await database.money.settle([settlement(call.reservationId)])
    expect(await changesAfter(database, version)).toMatchObject({ version, keys: [] })
    await database.operator.ask('POST', `/accounts/${accountId}/adjustments`, {
      amountNano: '-1',
      reason: 'test',
      idempotencyKey: 'down',
    })
    expect(await changesAfter(database, version)).toMatchObject({ version, keys: [] })
  })

  test('wait for changes of its keys, and never deadlock with them', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(0n)
    const others = await Promise.all([1, 2, 3].map(async () => await database.operator.createKey(accountId)))
    const act = async (turn: number) => {
      const key = [keyId, ...others.map((other) => other.keyId)][turn % 4] ?? keyId
      const { status } =
        turn % 2 === 0
          ? await database.operator.ask('POST', `/accounts/${accountId}/topups`, {
              amountNano: '10',
              reason: 'test',
              idempotencyKey: randomUUID(),
            })
          : await database.operator.ask('PATCH', `/keys/${key}`, { name: `turn ${turn}` })
      expect(status).toBeLessThan(300)
    }
    await Promise.all(Array.from({ length: 60 }, async (_, turn) => await act(turn)))
    expect(await database.balance(accountId)).toMatchObject({ posted: 300n })
  })
})

async function accountOf(database: BillingDatabase, keyId: string): Promise<string | undefined> {
  const { rows } = await database.pool.query<{ account_id: string }>(
    'select account_id from api_keys where id = $1',
    [keyId],
  )
  return rows[0]?.account_id
}
