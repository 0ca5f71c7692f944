import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect } from 'vitest'
import { createLane } from '#apps/billing/money/lanes/lane.ts'
import { createMoneyLane, type MoneyAnswer, type MoneyRequest } from '#apps/billing/money/lanes/money-lane.ts'
import { hashApiKey } from '#libs/api-key/api-key.ts'
import type { BillingKey, KeyChanges } from '#libs/billing-client/billing-calls.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { freePort } from '../../../support/free-port.ts'
import {
  CHAT,
  EMBED,
  log,
  ODD,
  reserveCall,
  START_MS,
  type BillingServer,
} from '../support/billing-database.ts'
import { createPatientClient } from '../support/patient-client.ts'
import { test } from '../support/billing-test.ts'

const WAIT = { interval: 20 }

let server: BillingServer
let client: BillingClient

test.beforeEach(async ({ database }) => {
  // Tests restart the server at the same address. An outgoing connection could take a port that the kernel had chosen.
  server = await database.serve({ address: `127.0.0.1:${await freePort()}` })
  client = createPatientClient(server)
})
afterEach(async () => {
  client.close()
  await server.stop()
})

describe('money calls', () => {
  test('reserve, replace and release work over one stream', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const call = reserveCall(keyId)
    expect(await client.reserve(call)).toEqual({
      status: 'granted',
      amountNano: 700n,
      outputTokens: 50,
      clamped: false,
      prices: { inputPriceNano: 2_000_000n, cachedInputPriceNano: 1_000_000n, outputPriceNano: 10_000_000n },
      receipt: expect.any(String),
    })
    const { reservationId } = call
    expect(await client.resize({ reservationId, inputTokens: 300, outputTokens: 50 })).toMatchObject({
      amountNano: 1_100n,
    })
    expect(await client.release(reservationId)).toBe(true)
    expect(await database.balance(accountId)).toEqual({ posted: 10_000n, held: 0n, openHolds: 0 })
  })

  test('a thousand calls of one turn each get their own answer', async ({ database }) => {
    const { keyId } = await database.createAccount(10_000_000n)
    // On a clock that stands still no batch is slow, so the lane refuses no call that waits behind a batch.
    const { money } = database
    const lane = createMoneyLane({ money, log, monotonicMs: () => 0, onBatch: () => undefined })
    const patient = await database.serve({ lane })
    const other = createPatientClient(patient)
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        other.reserve(reserveCall(keyId, { inputTokens: index, outputTokens: 1 })),
      ),
    )
    expect(answers.map((answer) => (answer.status === 'granted' ? answer.amountNano : null))).toEqual(
      Array.from({ length: 1_000 }, (_, index) => BigInt(index) * 2n + 10n),
    )
    other.close()
    await patient.stop()
  })

  test('a malformed call fails alone', async ({ database }) => {
    const { keyId } = await database.createAccount(10_000n)
    const outcomes = await Promise.allSettled([
      client.reserve(reserveCall('no-uuid')),
      client.reserve(reserveCall(keyId)),
      client.reserve(reserveCall(keyId, { deadlineMs: START_MS + 25 * 3_600_000 })),
      client.release('x'),
    ])
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: expect.any(RangeError) },
      { status: 'fulfilled', value: { status: 'granted' } },
      { status: 'rejected', reason: expect.any(RangeError) },
      { status: 'rejected', reason: expect.any(RangeError) },
    ])
  })

  test('an overloaded lane refuses clearly, and the stream goes on', async ({ database }) => {
    const full = createLane<MoneyRequest, MoneyAnswer>({
      run: (requests) => Promise.resolve(requests.map(() => ({ kind: 'release', released: true }))),
      kindOf: ({ kind }) => kind,
      subjectOf: () => randomUUID(),
      maxBatch: 10,
      maxWaiting: 1,
      maxWaitMs: 1_000,
      stuckMs: 1_000,
      monotonicMs: () => 0,
    })
    const busy = await database.serve({ lane: full })
    const other = createPatientClient(busy)
    const outcomes = await Promise.allSettled([other.release(randomUUID()), other.release(randomUUID())])
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: true },
      { status: 'rejected', reason: { name: 'BillingUnavailable', nothingDone: true } },
    ])
    expect(await other.release(randomUUID())).toBe(true)
    other.close()
    await busy.stop()
  })

  test('work again after the service restarted', async ({ database }) => {
    const { keyId } = await database.createAccount(10_000n)
    await client.reserve(reserveCall(keyId))
    await server.stop()
    await expect(client.reserve(reserveCall(keyId))).rejects.toBeInstanceOf(BillingUnavailable)
    server = await database.serve({ address: server.address })
    const call = reserveCall(keyId)
    await expect.poll(() => client.reserve(call).catch(() => null), WAIT).toMatchObject({ status: 'granted' })
  })

  test('calls that are outstanding when the service stops in good order are still answered', async ({
    database,
  }) => {
    const arrived = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const slow = createLane<MoneyRequest, MoneyAnswer>({
      async run(requests) {
        arrived.resolve()
        await gate.promise
        return requests.map(() => ({ kind: 'release', released: true }))
      },
      kindOf: ({ kind }) => kind,
      subjectOf: () => randomUUID(),
      maxBatch: 10,
      maxWaiting: 100,
      maxWaitMs: 1_000,
      stuckMs: 1_000,
      monotonicMs: () => 0,
    })
    const stopping = await database.serve({ lane: slow })
    const other = createPatientClient(stopping)
    const answers = Promise.all(Array.from({ length: 30 }, () => other.release(randomUUID())))
    await arrived.promise
    const stopped = stopping.stop()
    gate.resolve()
    expect(new Set(await answers)).toEqual(new Set([true]))
    await stopped
    other.close()
  })
})

describe('keys', () => {
  test('are found by their hash while they can be used', async ({ database }) => {
    const { accountId, keyId, secret } = await database.createAccount(1_000n)
    const sha256 = hashApiKey(secret)
    expect(await client.lookUpKey(sha256)).toEqual({
      keyId,
      accountId,
      weight: 1,
      sha256,
      active: true,
      expiresAtMs: null,
      models: null,
      shortage: null,
    })
    expect(await client.lookUpKey(hashApiKey('other'))).toBeNull()
    await database.pool.query('update api_keys set expires_at = $2 where id = $1', [
      keyId,
      new Date(START_MS + 1),
    ])
    expect(await client.lookUpKey(sha256)).toMatchObject({ expiresAtMs: START_MS + 1 })
    await database.pool.query('update api_keys set expires_at = $2 where id = $1', [
      keyId,
      new Date(START_MS),
    ])
    expect(await client.lookUpKey(sha256)).toBeNull()
    const revoked = await database.createAccount(1n)
    await database.operator.revokeKey(revoked.keyId)
    expect(await client.lookUpKey(hashApiKey(revoked.secret))).toBeNull()
  })

  test('a revocation is pushed to every watcher', async ({ database }) => {
    const { keyId } = await database.createAccount(1n)
    const watch = watchKeys(client)
    await expect.poll(() => watch.states, WAIT).toEqual([true])
    expect(watch.resyncs).toBe(1)
    await database.operator.revokeKey(keyId)
    await expect.poll(() => watch.keys.get(keyId)?.active, WAIT).toBe(false)
    watch.stop()
  })

  test('a top-up is pushed to every watcher: the key can pay again', async ({ database }) => {
    const { accountId, keyId, secret } = await database.createAccount(0n)
    const watch = watchKeys(client)
    await expect.poll(() => watch.states, WAIT).toEqual([true])
    expect(await client.lookUpKey(hashApiKey(secret))).toMatchObject({ shortage: { of: 'account' } })
    await database.operator.topUp(accountId, { nano: 1_000n, idempotencyKey: 'first' })
    await expect.poll(() => watch.keys.get(keyId)?.shortage, WAIT).toBeNull()
    watch.stop()
  })

  test('hundreds that nobody knows are looked up beside one that is real', async ({ database }) => {
    const { keyId, secret } = await database.createAccount(1_000n)
    const made = Array.from({ length: 400 }, (_, index) => client.lookUpKey(hashApiKey(`made up ${index}`)))
    expect(await client.lookUpKey(hashApiKey(secret))).toMatchObject({ keyId })
    expect(new Set(await Promise.all(made))).toEqual(new Set([null]))
  })

  test('closing an account is a change of its keys', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1n)
    const watch = watchKeys(client)
    await expect.poll(() => watch.states, WAIT).toEqual([true])
    await database.pool.query("update accounts set status = 'closed' where id = $1", [accountId])
    await expect.poll(() => watch.keys.get(keyId)?.active, WAIT).toBe(false)
    watch.stop()
  })

  test('changes made while the service was down are sent when it is back, without a resync', async ({
    database,
  }) => {
    const { keyId } = await database.createAccount(1n)
    const watch = watchKeys(client)
    await expect.poll(() => watch.states, WAIT).toEqual([true])
    await server.stop()
    await expect.poll(() => watch.states, WAIT).toEqual([true, false])
    await database.operator.revokeKey(keyId)
    server = await database.serve({ address: server.address })
    await expect.poll(() => watch.keys.get(keyId)?.active, WAIT).toBe(false)
    expect(watch.states).toEqual([true, false, true])
    expect(watch.resyncs).toBe(1)
    watch.stop()
  })

  test('after a restore from a backup watchers get a resync', async ({ database }) => {
    const watch = watchKeys(client)
    await expect.poll(() => watch.resyncs, WAIT).toBe(1)
    await server.stop()
    await database.pool.query("update change_counters set version = version - 1 where name = 'keys'")
    server = await database.serve({ address: server.address })
    await expect.poll(() => watch.resyncs, WAIT).toBe(2)
    await database.pool.query("update change_counters set version = version + 1 where name = 'keys'")
    watch.stop()
  })

  test('changes are noticed by polling when notifications are lost', async ({ database }) => {
    const polling = await database.serve({ pollMs: 50 })
    const other = createPatientClient(polling)
    const watch = watchKeys(other)
    await expect.poll(() => watch.states, WAIT).toEqual([true])
    const { keyId } = await database.createAccount(1n)
    await expect.poll(() => watch.keys.get(keyId)?.active, WAIT).toBe(true)
    await database.pool.query('alter table api_keys disable trigger key_changed')
    await database.pool.query(
      "update api_keys set status = 'revoked', version = next_version('keys') where id = $1",
      [keyId],
    )
    await expect.poll(() => watch.keys.get(keyId)?.active, WAIT).toBe(false)
    await database.pool.query('alter table api_keys enable trigger key_changed')
    other.close()
    await polling.stop()
  })
})

describe('the catalog', () => {
  test('is sent whole at once and whenever it changes, also after a restart', async ({ database }) => {
    const catalogs: ModelSpec[][] = []
    const states: boolean[] = []
    const stop = client.watchCatalog({
      onCatalog: (models) => catalogs.push(models),
      onState: (connected) => states.push(connected),
    })
    await expect.poll(() => catalogs, WAIT).toEqual([[CHAT, EMBED, ODD]])
    database.clock.nowMs += 1_000
    const busy: ModelSpec = { ...CHAT, fixedState: 'busy' }
    await database.loadModels([busy, EMBED])
    await expect.poll(() => catalogs.at(-1), WAIT).toEqual([busy, EMBED, { ...ODD, enabled: false }])
    await server.stop()
    await expect.poll(() => states, WAIT).toEqual([true, false])
    await database.loadModels([CHAT, EMBED, ODD])
    server = await database.serve({ address: server.address })
    await expect.poll(() => catalogs.at(-1), WAIT).toEqual([CHAT, EMBED, ODD])
    expect(states).toEqual([true, false, true])
    stop()
  })
})

function watchKeys(watched: BillingClient) {
  const keys = new Map<string, BillingKey>()
  const states: boolean[] = []
  const watch = { keys, states, resyncs: 0, stop: () => {} }
  watch.stop = watched.watchKeys({
    onChanges(changes: KeyChanges) {
      if (changes.resync) watch.resyncs += 1
      for (const key of changes.keys) keys.set(key.keyId, key)
    },
    onState: (connected) => states.push(connected),
  })
  return watch
}
