import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hashApiKey } from '#libs/api-key/api-key.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import type { ManageKeyRequest } from '#proto/types/millrace/billing/ManageKeyRequest.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { reserveCall, settlement, START_MS } from '../support/billing-database.ts'
import { openManagedAccount, refused, type ManagedAccount } from '../support/managed-account.ts'

const DAY_MS = 24 * 60 * 60 * 1000

let managed: ManagedAccount
let database: ManagedAccount['database']
let billing: ManagedAccount['billing']
let account: ManagedAccount['account']
let manager: ManagedAccount['manager']
let createManager: ManagedAccount['createManager']
let manage: ManagedAccount['manage']
let done: ManagedAccount['done']
let auditOf: ManagedAccount['auditOf']

beforeEach(async () => {
  managed = await openManagedAccount()
  ;({ database, billing, account, manager, createManager, manage, done, auditOf } = managed)
})
afterEach(() => managed.close())

describe('an account', () => {
  test('makes, changes, disables and revokes a key; each act is in the audit log', async () => {
    const { id, secret, key } = await done({
      create: { name: 'laptop', models: { ids: ['chat'] }, requestsPerMinute: 5, tokensPerMinute: '100' },
    })
    expect(key).toMatchObject({
      name: 'laptop',
      status: 'active',
      models: { ids: ['chat'] },
      requestsPerMinute: 5,
      tokensPerMinute: '100',
      limit: null,
      expiresAtMs: '0',
    })
    const expires = String(START_MS + DAY_MS)
    const changed = await done({
      keyId: id,
      change: { name: '', models: { ids: [] }, requestsPerMinute: 0, limitNano: '900', expiresAtMs: expires },
    })
    expect(changed.key).toMatchObject({
      name: '',
      models: null,
      requestsPerMinute: 0,
      tokensPerMinute: '100',
      limit: { amountNano: '900', leftNano: '900', period: 'total' },
      expiresAtMs: expires,
    })
    expect((await done({ keyId: id, change: { limitPeriod: 'week' } })).key?.limit?.period).toBe('week')
    expect((await done({ keyId: id, change: { limitNano: '500' } })).key?.limit).toMatchObject({
      amountNano: '500',
      period: 'week',
    })
    const both = await done({ keyId: id, change: { limitNano: '0', expiresAtMs: '0', disabled: true } })
    expect(both.key).toMatchObject({ limit: null, expiresAtMs: '0', status: 'disabled' })
    expect(await billing.lookUpKey(hashApiKey(secret))).toBeNull()
    expect((await done({ keyId: id, change: { disabled: false } })).key?.status).toBe('active')
    for (const _again of [1, 2]) {
      expect((await done({ keyId: id, revoke: {} })).key?.status).toBe('revoked')
    }
    const audit = await auditOf(id)
    expect(audit.map(({ action }) => action)).toEqual([
      'revokeKey',
      'enableKey',
      'disableKey',
      'changeKey',
      'changeKey',
      'changeKey',
      'changeKey',
      'createKey',
    ])
    for (const entry of audit) {
      expect(entry).toMatchObject({
        actor: manager.id,
        role: 'account',
        details: { account: account.accountId },
      })
    }
    const { rows } = await database.pool.query<{ everything: string }>(
      'select a::text as everything from admin_audit a union all select k::text from api_keys k',
    )
    expect(rows.filter(({ everything }) => everything.includes(secret))).toEqual([])
  })

  test('rotates a key: both secrets are valid for the overlap', async () => {
    const { id, secret } = await done({ create: { name: 'server', requestsPerMinute: 7 } })
    const rotated = await done({ keyId: id, rotate: { overlapSeconds: 60 } })
    expect(rotated.key).toMatchObject({ rotatedFrom: id, name: 'server', requestsPerMinute: 7 })
    expect(await billing.lookUpKey(hashApiKey(secret))).not.toBeNull()
    expect(await billing.lookUpKey(hashApiKey(rotated.secret))).toMatchObject({ keyId: rotated.id })
    database.clock.nowMs += 60_000
    expect(await billing.lookUpKey(hashApiKey(secret))).toBeNull()
    expect(await manage({ keyId: id, rotate: { overlapSeconds: 60 } })).toMatchObject(refused('CONFLICT'))
    expect(await auditOf(id)).toMatchObject([
      { role: 'account', action: 'rotateKey', details: { successor: rotated.id } },
      { action: 'createKey' },
    ])
  })

  test('lists its keys newest first, page by page, and no others', async () => {
    await database.createAccount(0n)
    const ids = [account.keyId]
    for (const name of ['b', 'c', 'd']) {
      database.clock.nowMs += 1
      ids.unshift((await done({ create: { name } })).id)
    }
    const page = async (cursor: string) =>
      await billing.listAccountKeys({ managementKeyId: manager.id, limit: 3, cursor })
    const first = await page('')
    const rest = await page(first.nextCursor)
    expect([...first.keys, ...rest.keys].map(({ keyId }) => keyId)).toEqual(ids)
    expect([first.keys.length, rest.nextCursor]).toEqual([3, ''])
    await expect(page('x')).rejects.toThrow(RangeError)
  })

  test('is refused every act on a key of another account, as on an unknown one', async () => {
    const foreign = await database.createAccount(1_000n)
    for (const keyId of [foreign.keyId, randomUUID()]) {
      const acts: ManageKeyRequest[] = [
        { read: {} },
        { change: { name: 'mine' } },
        { change: { disabled: true } },
        { revoke: {} },
        { rotate: { overlapSeconds: 0 } },
        { rotate: { overlapSeconds: 0 }, idempotencyKey: 'a' },
      ]
      for (const act of acts) {
        const { refusal: given, ...rest } = await manage({ keyId, ...act })
        expect(rest).toEqual({ key: null, secret: '', replayed: false })
        expect(given).toEqual({ reason: 'NOT_FOUND', message: `There is no key ${keyId}.`, param: '' })
      }
    }
    const { key } = await billing.manageKey({
      managementKeyId: (await createManager(foreign.accountId)).id,
      keyId: foreign.keyId,
      read: {},
    })
    expect(key).toMatchObject({ name: '', status: 'active', expiresAtMs: '0' })
    expect((await auditOf(foreign.keyId)).map(({ action }) => action)).toEqual(['createKey'])
  })

  test.each([
    ['models', { models: { ids: ['chat', 'nope'] } }],
    ['expiresAt', { expiresAtMs: String(START_MS) }],
    ['spendLimit', { limitPeriod: 'day' }],
    ['spendLimit.period', { limitNano: '1', limitPeriod: 'year' }],
    ['spendLimit.amountNano', { limitNano: '-1' }],
    ['tokensPerMinute', { tokensPerMinute: '-1' }],
  ])('is refused a wrong value of %s', async (param, settings) => {
    expect(await manage({ create: settings })).toMatchObject(refused('INVALID', param))
    expect(await manage({ keyId: account.keyId, change: settings })).toMatchObject(refused('INVALID', param))
    expect(await auditOf(account.keyId)).toHaveLength(1)
  })

  test('cannot change, enable or rotate a revoked key', async () => {
    await done({ keyId: account.keyId, revoke: {} })
    const acts = [
      { change: { name: 'a' } },
      { change: { disabled: false } },
      { rotate: { overlapSeconds: 0 } },
    ]
    for (const act of acts) {
      expect(await manage({ keyId: account.keyId, ...act })).toMatchObject(refused('CONFLICT'))
    }
  })

  test('reads all requests of the account, and none of another one', async () => {
    const second = await done({ create: {} })
    const foreign = await database.createAccount(10_000n)
    const [own, made, other] = [account.keyId, second.id, foreign.keyId].map((keyId) =>
      reserveCall(keyId, { reservationId: uuidV7(START_MS) }),
    )
    if (own === undefined || made === undefined || other === undefined) throw new Error('three calls')
    await database.money.reserve([own, made, other])
    await database.money.settle([settlement(made.reservationId), settlement(other.reservationId)])
    const reader = { managementKeyId: manager.id }
    const [a, b, c] = [own, made, other].map(({ reservationId }) => reservationId)
    const { generations } = await billing.listGenerations(reader, { limit: 10, cursor: '' })
    expect(generations.map(({ id, state }) => [id, state])).toEqual([
      [a, 'held'],
      [b, 'settled'],
    ])
    expect((await billing.readGeneration(reader, a ?? '')).generation).toMatchObject({ state: 'held' })
    expect((await billing.readGeneration(reader, c ?? '')).generation).toBeNull()
    const day = new Date(START_MS).toISOString().slice(0, 10)
    const { days } = await billing.readActivity(reader, { from: day, to: day })
    expect(days).toMatchObject([{ requests: '1', chargedNano: '700' }])
    expect(await billing.readKey(reader)).toMatchObject({
      label: expect.stringMatching(/^mr_manage_..…\S{4}$/),
      name: 'tool',
      limit: null,
      usage: { totalNano: '700', dayNano: '700' },
      postedNano: '9300',
      heldNano: '700',
      creditedNano: '10000',
    })
  })
})

describe('a repeated request', () => {
  const idempotencyKey = 'first key'

  test('with the same idempotency key makes one key, and shows its secret once', async () => {
    const first = await done({ create: { name: 'a' }, idempotencyKey })
    const again = await done({ create: { name: 'a' }, idempotencyKey })
    expect(again).toMatchObject({ id: first.id, secret: '', replayed: true })
    expect(first).toMatchObject({ replayed: false, secret: expect.stringMatching(/^mr_live_/) })
    expect(await auditOf(first.id)).toHaveLength(1)
    const other = await manage({ create: { name: 'b' }, idempotencyKey })
    expect(other).toMatchObject(refused('CONFLICT'))
    const rotation = await manage({ keyId: first.id, rotate: { overlapSeconds: 0 }, idempotencyKey })
    expect(rotation).toMatchObject(refused('CONFLICT'))
  })

  test('at the same moment makes one key too', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => await done({ create: {}, idempotencyKey })),
    )
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(answers.filter(({ secret }) => secret !== '')).toHaveLength(1)
  })

  test('of a rotation makes one successor', async () => {
    const rotate = { keyId: account.keyId, rotate: { overlapSeconds: 60 }, idempotencyKey }
    const first = await done(rotate)
    expect(await done(rotate)).toMatchObject({ id: first.id, secret: '', replayed: true })
  })

  test('belongs to its account, and is forgotten after 30 days', async () => {
    const first = await done({ create: {}, idempotencyKey })
    const foreign = await database.createAccount(0n)
    const { key } = await billing.manageKey({
      managementKeyId: (await createManager(foreign.accountId)).id,
      create: {},
      idempotencyKey,
    })
    expect(key?.keyId).not.toBe(first.id)
    database.clock.nowMs += 30 * DAY_MS
    expect(await done({ create: {}, idempotencyKey })).toMatchObject({ id: first.id, replayed: true })
    database.clock.nowMs += 1
    expect(await done({ create: {}, idempotencyKey })).toMatchObject({ replayed: false })
  })
})

test('an account has 1,000 keys at most, and makes 1,000 a day', async () => {
  const fill = async (count: number, createdAt: string, status: string) =>
    await database.pool.query(
      `insert into api_keys (id, account_id, sha256, prefix, last4, created_at, status)
       select gen_random_uuid(), $1::uuid, sha256(gen_random_uuid()::text::bytea), 'x', 'x', $2::timestamptz, $3
       from generate_series(1, $4::integer)`,
      [account.accountId, createdAt, status, count],
    )
  await fill(998, '2029-01-01', 'active')
  const last = await done({ create: {} })
  expect(await manage({ create: {} })).toMatchObject(refused('CONFLICT'))
  expect(await manage({ keyId: last.id, rotate: { overlapSeconds: 1 } })).toMatchObject(refused('CONFLICT'))
  await done({ keyId: last.id, revoke: {} })
  await fill(997, new Date(START_MS).toISOString(), 'revoked')
  const { id } = await done({ create: {} })
  await done({ keyId: id, revoke: {} })
  expect(await manage({ create: {} })).toMatchObject(refused('CONFLICT'))
  database.clock.nowMs += DAY_MS
  await done({ create: {} })
})

test('a malformed request is refused, and an act without the database is not answered', async () => {
  const { keyId } = account
  await expect(manage({ keyId })).rejects.toThrow(RangeError)
  await expect(manage({ keyId, change: {} })).rejects.toThrow(RangeError)
  await expect(manage({ keyId: 'x', read: {} })).rejects.toThrow(RangeError)
  await expect(billing.manageKey({ managementKeyId: 'x', create: {} })).rejects.toThrow(RangeError)
  await expect(manage({ create: {}, idempotencyKey: 'a'.repeat(201) })).rejects.toThrow(RangeError)
  await database.pool.query('alter table key_requests rename to gone')
  await expect(manage({ create: {}, idempotencyKey: 'b' })).rejects.toThrow(BillingUnavailable)
  await database.pool.query('alter table gone rename to key_requests')
  expect((await database.operator.call(ADMIN.listKeys, {})).data).toHaveLength(1)
})
