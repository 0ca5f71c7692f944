import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hashApiKey } from '#libs/api-key/api-key.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { askAs, refused } from '../support/ask-as.ts'
import { reserveCall, settlement, START_MS } from '../support/billing-database.ts'
import { openManagedAccount, type ManagedAccount } from '../support/managed-account.ts'

const DAY_MS = 24 * 60 * 60 * 1000

let managed: ManagedAccount
let database: ManagedAccount['database']
let billing: ManagedAccount['billing']
let account: ManagedAccount['account']
let manager: ManagedAccount['manager']
let createManager: ManagedAccount['createManager']
let ask: ManagedAccount['ask']
let create: ManagedAccount['create']
let rotate: ManagedAccount['rotate']
let change: ManagedAccount['change']
let revoke: ManagedAccount['revoke']
let auditOf: ManagedAccount['auditOf']

beforeEach(async () => {
  managed = await openManagedAccount()
  ;({ database, billing, account, manager, createManager, auditOf } = managed)
  ;({ ask, create, rotate, change, revoke } = managed)
})
afterEach(() => managed.close())

describe('an account', () => {
  test('makes, changes, disables and revokes a key; each act is in the audit log', async () => {
    const made = await create({
      name: 'laptop',
      models: ['chat'],
      requests_per_minute: 5,
      tokens_per_minute: 100,
    })
    const { id } = made.data
    const secret = made.key ?? ''
    expect(made.data).toMatchObject({
      name: 'laptop',
      status: 'active',
      models: ['chat'],
      requests_per_minute: 5,
      tokens_per_minute: 100,
      limit: null,
      expires_at: null,
    })
    const expires = new Date(START_MS + DAY_MS).toISOString()
    const limited = { name: null, models: null, requests_per_minute: null, limit: 9e-7, expires_at: expires }
    expect(await change(id, limited)).toMatchObject({
      name: null,
      models: null,
      requests_per_minute: null,
      tokens_per_minute: 100,
      limit_reset: null,
      nano: { limit: '900', limit_remaining: '900' },
      expires_at: expires,
    })
    expect((await change(id, { limit_reset: 'weekly' })).limit_reset).toBe('weekly')
    expect(await change(id, { limit: 5e-7 })).toMatchObject({ nano: { limit: '500' }, limit_reset: 'weekly' })
    expect(await change(id, { limit: null, expires_at: null, disabled: true })).toMatchObject({
      limit: null,
      limit_reset: null,
      expires_at: null,
      status: 'disabled',
    })
    expect(await billing.lookUpKey(hashApiKey(secret))).toBeNull()
    expect((await change(id, { disabled: false })).status).toBe('active')
    for (const _again of [1, 2]) expect((await revoke(id)).status).toBe('revoked')
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
    expect(secret).toMatch(/^mr_live_/)
    expect(rows.filter(({ everything }) => everything.includes(secret))).toEqual([])
  })

  test('rotates a key: both secrets are valid for the overlap', async () => {
    const made = await create({ name: 'server', requests_per_minute: 7 })
    const { id } = made.data
    const rotated = await rotate(id, 60)
    expect(rotated.data).toMatchObject({ rotated_from: id, name: 'server', requests_per_minute: 7 })
    const [old = '', next = ''] = [made.key ?? undefined, rotated.key ?? undefined]
    expect(await billing.lookUpKey(hashApiKey(old))).not.toBeNull()
    expect(await billing.lookUpKey(hashApiKey(next))).toMatchObject({ keyId: rotated.data.id })
    database.clock.nowMs += 60_000
    expect(await billing.lookUpKey(hashApiKey(old))).toBeNull()
    await expect(rotate(id, 60)).rejects.toMatchObject(refused('key_conflict'))
    expect(await auditOf(id)).toMatchObject([
      { role: 'account', action: 'rotateKey', details: { successor: rotated.data.id } },
      { action: 'createKey' },
    ])
  })

  test('lists its keys newest first, page by page, and no others', async () => {
    await database.createAccount(0n)
    const ids = [account.keyId]
    for (const name of ['b', 'c', 'd']) {
      database.clock.nowMs += 1
      ids.unshift((await create({ name })).data.id)
    }
    const page = async (cursor?: string | null) =>
      await ask('listKeys', { query: { limit: 3, ...(cursor != null && { cursor }) } })
    const first = await page()
    const rest = await page(first.next_cursor)
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(ids)
    expect([first.data.length, rest.next_cursor]).toEqual([3, null])
    await expect(page('x')).rejects.toMatchObject(refused('invalid_request', 'cursor'))
    await expect(ask('listKeys', { query: { limit: 51 } })).rejects.toMatchObject(
      refused('invalid_request', 'limit'),
    )
  })

  test('is refused every act on a key of another account, as on an unknown one', async () => {
    const foreign = await database.createAccount(1_000n)
    for (const id of [foreign.keyId, randomUUID()]) {
      const acts = [
        async () => await managed.read(id),
        async () => await change(id, { name: 'mine' }),
        async () => await change(id, { disabled: true }),
        async () => await revoke(id),
        async () => await rotate(id, 0),
        async () => await rotate(id, 0, 'a'),
      ]
      for (const act of acts) {
        await expect(act()).rejects.toMatchObject({
          ...refused('key_not_found'),
          message: `There is no key ${id}.`,
        })
      }
    }
    const own = managed.actsOf((await createManager(foreign.accountId)).id)
    expect(await own.read(foreign.keyId)).toMatchObject({ name: null, status: 'active', expires_at: null })
    expect((await auditOf(foreign.keyId)).map(({ action }) => action)).toEqual(['createKey'])
  })

  test.each([
    ['models', { models: ['chat', 'nope'] }],
    ['expires_at', { expires_at: new Date(START_MS).toISOString() }],
    ['limit', { limit_reset: 'daily' }],
    ['limit_reset', { limit: 1, limit_reset: 'yearly' }],
    ['limit', { limit: -1 }],
    ['tokens_per_minute', { tokens_per_minute: -1 }],
  ])('is refused a wrong value of %s', async (param, settings) => {
    const refusal = refused('invalid_request', param)
    await expect(create(settings)).rejects.toMatchObject(refusal)
    await expect(change(account.keyId, settings)).rejects.toMatchObject(refusal)
    expect(await auditOf(account.keyId)).toHaveLength(1)
  })

  test('cannot change, enable or rotate a revoked key', async () => {
    const { keyId } = account
    await revoke(keyId)
    const acts = [
      async () => await change(keyId, { name: 'a' }),
      async () => await change(keyId, { disabled: false }),
      async () => await rotate(keyId, 0),
    ]
    for (const act of acts) await expect(act()).rejects.toMatchObject(refused('key_conflict'))
  })

  test('reads all requests of the account, and none of another one', async () => {
    const second = await create()
    const foreign = await database.createAccount(10_000n)
    const [own, made, other] = [account.keyId, second.data.id, foreign.keyId].map((keyId) =>
      reserveCall(keyId, { reservationId: uuidV7(START_MS) }),
    )
    if (own === undefined || made === undefined || other === undefined) throw new Error('three calls')
    await database.money.reserve([own, made, other])
    await database.money.settle([settlement(made.reservationId), settlement(other.reservationId)])
    const { data } = await ask('listGenerations', { query: { limit: 10 } })
    expect(data.map(({ id, status }) => [id, status])).toEqual([
      [own.reservationId, 'running'],
      [made.reservationId, 'settled'],
    ])
    const read = async ({ reservationId: id }: typeof own) => await ask('readGeneration', { query: { id } })
    expect((await read(own)).data).toMatchObject({ status: 'running' })
    await expect(read(other)).rejects.toMatchObject(refused('generation_not_found', 'id'))
    const day = new Date(START_MS).toISOString().slice(0, 10)
    const { data: days } = await ask('readActivity', { query: { from: day, to: day } })
    expect(days).toMatchObject([{ requests: 1, nano: { usage: '700' } }])
    expect((await ask('readKey')).data).toMatchObject({
      label: expect.stringMatching(/^mr_manage_..…\S{4}$/),
      name: 'tool',
      is_management_key: true,
      limit: null,
      nano: { usage: '700', usage_daily: '700', available: '8600', held: '700', spendable: '0' },
    })
    expect((await ask('readCredits')).data.nano).toEqual({
      total_credits: '10000',
      total_usage: '700',
      available: '8600',
      held: '700',
    })
  })
})

test('a key whose limit begins to reset at another time keeps what it has spent', async () => {
  const { data } = await create({ limit: 1e-6, limit_reset: 'daily' })
  const call = reserveCall(data.id)
  await database.money.reserve([call])
  await database.money.settle([settlement(call.reservationId)])
  for (const reset of ['monthly', 'weekly', null, 'daily'] as const) {
    expect(await change(data.id, { limit_reset: reset })).toMatchObject({
      nano: { usage: '700', limit: '1000', limit_remaining: '300' },
    })
  }
})

describe('a repeated request', () => {
  const once = 'first key'

  test('with the same idempotency key makes one key, and shows its secret once', async () => {
    const first = await create({ name: 'a', limit: 1 }, once)
    const again = await create({ limit: 1, name: 'a' }, once)
    expect(again).toMatchObject({ data: { id: first.data.id }, key: null, replayed: true })
    expect(first).toMatchObject({ replayed: false, key: expect.stringMatching(/^mr_live_/) })
    expect(await auditOf(first.data.id)).toHaveLength(1)
    await expect(create({ name: 'b', limit: 1 }, once)).rejects.toMatchObject(refused('key_conflict'))
    await expect(create({ name: 'a', limit: 2 }, once)).rejects.toMatchObject(refused('key_conflict'))
    await expect(rotate(first.data.id, 0, once)).rejects.toMatchObject(refused('key_conflict'))
  })

  test('at the same moment makes one key too', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, async () => await create({}, once)))
    expect(new Set(answers.map(({ data }) => data.id)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(answers.filter(({ key }) => key !== null)).toHaveLength(1)
  })

  test('of a rotation makes one successor', async () => {
    const first = await rotate(account.keyId, 60, once)
    const again = await rotate(account.keyId, 60, once)
    expect(again).toMatchObject({ data: { id: first.data.id }, key: null, replayed: true })
    await expect(rotate(account.keyId, 61, once)).rejects.toMatchObject(refused('key_conflict'))
  })

  test('belongs to its account, and is forgotten after 30 days', async () => {
    const first = await create({}, once)
    const foreign = await database.createAccount(0n)
    const other = managed.actsOf((await createManager(foreign.accountId)).id)
    expect((await other.create({}, once)).data.id).not.toBe(first.data.id)
    database.clock.nowMs += 30 * DAY_MS
    expect(await create({}, once)).toMatchObject({ data: { id: first.data.id }, replayed: true })
    database.clock.nowMs += 1
    expect(await create({}, once)).toMatchObject({ replayed: false })
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
  const last = await create()
  await expect(create()).rejects.toMatchObject(refused('key_conflict'))
  await expect(rotate(last.data.id, 1)).rejects.toMatchObject(refused('key_conflict'))
  await revoke(last.data.id)
  await fill(997, new Date(START_MS).toISOString(), 'revoked')
  await revoke((await create()).data.id)
  await expect(create()).rejects.toMatchObject(refused('key_conflict'))
  database.clock.nowMs += DAY_MS
  await create()
})

test('a malformed request is refused, and an act without the database is not answered', async () => {
  const { keyId } = account
  const nothing = { params: {}, query: {}, headers: {}, body: {} }
  // @ts-expect-error A gateway of another release may have more operations.
  await expect(ask('noSuchOperation')).rejects.toThrow(RangeError)
  await expect(askAs(billing, { managementKeyId: 'x' })('createKey')).rejects.toThrow(RangeError)
  await expect(askAs(billing, { keyId: 'x' })('readKey')).rejects.toThrow(RangeError)
  await expect(billing.askAccount('createKey', { keyId }, nothing)).rejects.toThrow(RangeError)
  await expect(change(keyId, {})).rejects.toMatchObject(refused('invalid_request'))
  await expect(managed.read('x')).rejects.toMatchObject(refused('key_not_found'))
  await expect(create({}, 'a'.repeat(201))).rejects.toMatchObject(
    refused('invalid_request', 'idempotency-key'),
  )
  await database.pool.query('alter table key_requests rename to gone')
  await expect(create({}, 'b')).rejects.toThrow(BillingUnavailable)
  await database.pool.query('alter table gone rename to key_requests')
  expect((await database.operator.call(ADMIN.listKeys, {})).data).toHaveLength(1)
})
