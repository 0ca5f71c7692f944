import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { findUsableKeys } from '#apps/billing/database/keys.ts'
import { hashApiKey, isWellFormedApiKey } from '#libs/api-key/api-key.ts'
import { reserveCall, settlement, type BillingDatabase } from '../support/billing-database.ts'
import { refusal } from '../support/operator.ts'
import { test } from '../support/billing-test.ts'

const isUsable = async (database: BillingDatabase, secret: string) =>
  (await findUsableKeys(database.pool, [hashApiKey(secret)], database.clock.nowMs))[0] !== null

const Key = z.object({ id: z.uuid(), secret: z.string(), prefix: z.string(), last4: z.string() })

describe('a new key', () => {
  test('is shown once, is well formed, and is stored as its hash only', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const { status, body } = await ask('POST', `/accounts/${account}/keys`, { name: 'laptop' })
    const key = Key.parse(body)
    expect(status).toBe(201)
    expect(isWellFormedApiKey(key.secret)).toBe(true)
    expect(key.secret.startsWith(key.prefix) && key.secret.endsWith(key.last4)).toBe(true)
    const { rows } = await database.pool.query<{ everything: string }>(
      'select k::text as everything from api_keys k union all select a::text from admin_audit a',
    )
    expect(
      rows.filter(({ everything }) => everything.includes(hashApiKey(key.secret).toString('hex'))),
    ).toHaveLength(1)
    expect(rows.filter(({ everything }) => everything.includes(key.secret))).toEqual([])
    const { secret: _secret, ...shown } = key
    expect((await ask('GET', `/keys/${key.id}`)).body).toMatchObject({
      ...shown,
      name: 'laptop',
      status: 'active',
    })
    expect(JSON.stringify((await ask('GET', `/keys?account=${account}`)).body)).not.toContain(key.secret)
  })

  test('needs no body, and has no limits then', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    expect(await ask('POST', `/accounts/${account}/keys`)).toMatchObject({
      status: 201,
      body: {
        name: null,
        expiresAt: null,
        models: null,
        spendLimit: null,
        requestsPerMinute: null,
        tokensPerMinute: null,
        spending: null,
        lastUsedAt: null,
      },
    })
  })

  test('has the limits that it is given', async ({ database, ask }) => {
    const { accountId } = await database.createAccount(1_000n)
    const limits = {
      expiresAt: '2030-02-01T00:00:00.000Z',
      models: ['chat'],
      spendLimit: { amountNano: '800', period: 'day' },
      requestsPerMinute: 2,
      tokensPerMinute: 1_000,
    }
    const { keyId } = await database.operator.createKey(accountId, limits)
    expect((await ask('GET', `/keys/${keyId}`)).body).toMatchObject(limits)
    const call = reserveCall(keyId)
    expect(await database.money.reserve([{ ...call, model: 'odd' }])).toEqual([{ status: 'model-unknown' }])
    expect(await database.money.reserve([call])).toMatchObject([{ status: 'granted' }])
    expect(await database.money.reserve([reserveCall(keyId)])).toMatchObject([{ status: 'key-limit' }])
    await database.money.settle([settlement(call.reservationId, { completionTokens: 10 })])
    expect((await ask('GET', `/keys/${keyId}`)).body).toMatchObject({
      spending: { periodStart: '2030-01-01T00:00:00.000Z', spentNano: '300', heldNano: '0', leftNano: '500' },
      lastUsedAt: '2030-01-01T00:00:00.000Z',
    })
  })

  test.for([
    ['models', { models: ['chat', 'nope'] }],
    ['models', { models: [] }],
    ['expiresAt', { expiresAt: '2029-12-31T23:59:59Z' }],
    ['expiresAt', { expiresAt: 'tomorrow' }],
    ['spendLimit.period', { spendLimit: { amountNano: '1', period: 'year' } }],
    ['spendLimit.amountNano', { spendLimit: { amountNano: '0', period: 'day' } }],
    ['requestsPerMinute', { requestsPerMinute: 0 }],
    ['tokensPerMinute', { tokensPerMinute: 1.5 }],
    ['secret', { secret: 'mine' }],
  ] as const)('is refused with a wrong field: %s', async ([param, limits], { database, ask }) => {
    const account = await database.operator.createAccount()
    const answer = await ask('POST', `/accounts/${account}/keys`, limits)
    expect(answer).toEqual({ status: 400, body: refusal('invalid_request', param) })
  })
})

describe('a key', () => {
  test('is changed field by field, and null takes a limit away', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const { keyId } = await database.operator.createKey(account, {
      name: 'a',
      models: ['chat'],
      requestsPerMinute: 5,
    })
    const change = (body: object) => ask('PATCH', `/keys/${keyId}`, body)
    expect(await change({ models: null, spendLimit: { amountNano: '9', period: 'total' } })).toMatchObject({
      status: 200,
      body: {
        name: 'a',
        models: null,
        requestsPerMinute: 5,
        spendLimit: { amountNano: '9', period: 'total' },
        spending: { periodStart: null, leftNano: '9' },
      },
    })
    expect((await change({ spendLimit: null })).body).toMatchObject({ spendLimit: null, spending: null })
    expect(await change({ reason: 'nothing' })).toMatchObject({ status: 400 })
  })

  test('expires by itself', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const { keyId, secret } = await database.operator.createKey(account, {
      expiresAt: '2030-01-01T00:00:10Z',
    })
    expect(await isUsable(database, secret)).toBe(true)
    database.clock.nowMs += 10_000
    expect(await isUsable(database, secret)).toBe(false)
    expect((await ask('GET', `/keys/${keyId}`)).body).toMatchObject({ status: 'expired' })
  })

  test('can be disabled and enabled', async ({ database, ask }) => {
    const { keyId } = await database.createAccount(1_000n)
    expect(await ask('POST', `/keys/${keyId}/disable`)).toMatchObject({
      status: 200,
      body: { status: 'disabled' },
    })
    expect(await database.money.reserve([reserveCall(keyId)])).toEqual([{ status: 'key-invalid' }])
    expect(await ask('POST', `/keys/${keyId}/enable`)).toMatchObject({
      status: 200,
      body: { status: 'active' },
    })
    expect(await database.money.reserve([reserveCall(keyId)])).toMatchObject([{ status: 'granted' }])
  })

  test('is revoked permanently, and a repeated revocation has the same answer', async ({ database, ask }) => {
    const { keyId } = await database.createAccount(1_000n)
    const first = await ask('POST', `/keys/${keyId}/revoke`, { reason: 'leaked' })
    expect(first).toMatchObject({ status: 200, body: { revokedAt: '2030-01-01T00:00:00.000Z' } })
    database.clock.nowMs += 1_000
    expect(await ask('POST', `/keys/${keyId}/revoke`)).toEqual(first)
    database.clock.nowMs -= 1_000
    expect(await database.money.reserve([reserveCall(keyId)])).toEqual([{ status: 'key-invalid' }])
    for (const path of ['enable', 'disable']) {
      expect(await ask('POST', `/keys/${keyId}/${path}`)).toEqual({ status: 409, body: refusal('conflict') })
    }
    expect(await ask('PATCH', `/keys/${keyId}`, { name: 'x' })).toEqual({
      status: 409,
      body: refusal('conflict'),
    })
    const { rows } = await database.pool.query(
      'select action, reason from admin_audit where target = $1 order by seq',
      [keyId],
    )
    expect(rows).toEqual([
      { action: 'createKey', reason: null },
      { action: 'revokeKey', reason: 'leaked' },
    ])
  })

  test('is found by how its secret begins and ends', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const { keyId, secret } = await database.operator.createKey(account)
    await database.operator.createKey(account)
    const query = `account=${account}&prefix=${secret.slice(0, 12)}&last4=${secret.slice(-4)}`
    expect((await ask('GET', `/keys?${query}`)).body).toMatchObject({
      data: [{ id: keyId }],
      nextCursor: null,
    })
  })

  test('with an unknown id is not found', async ({ ask }) => {
    const notFound = { status: 404, body: refusal('not_found') }
    expect(await ask('GET', `/keys/${randomUUID()}`)).toEqual(notFound)
    expect(await ask('GET', `/keys?account=${randomUUID()}`)).toEqual(notFound)
    for (const path of ['revoke', 'enable', 'disable']) {
      expect(await ask('POST', `/keys/${randomUUID()}/${path}`)).toEqual(notFound)
    }
    expect(await ask('POST', `/keys/${randomUUID()}/rotate`, { overlapSeconds: 0 })).toEqual(notFound)
  })
})

describe('rotating', () => {
  const limits = {
    name: 'app',
    models: ['chat'],
    spendLimit: { amountNano: '800', period: 'day' },
    requestsPerMinute: 3,
  }

  test('gives a successor with the same limits, and the old secret stays valid for the overlap', async ({
    database,
    ask,
  }) => {
    const account = await database.operator.createAccount()
    const old = await database.operator.createKey(account, limits)
    const { status, body } = await ask('POST', `/keys/${old.keyId}/rotate`, { overlapSeconds: 60 })
    const successor = Key.parse(body)
    expect(status).toBe(201)
    expect(body).toMatchObject({ ...limits, accountId: account, rotatedFrom: old.keyId, expiresAt: null })
    database.clock.nowMs += 59_999
    expect([await isUsable(database, old.secret), await isUsable(database, successor.secret)]).toEqual([
      true,
      true,
    ])
    database.clock.nowMs += 1
    expect([await isUsable(database, old.secret), await isUsable(database, successor.secret)]).toEqual([
      false,
      true,
    ])
  })

  test('never lets the old secret live longer than it would have', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const expiresAt = '2030-01-01T00:00:10.000Z'
    const { keyId } = await database.operator.createKey(account, { expiresAt })
    await ask('POST', `/keys/${keyId}/rotate`, { overlapSeconds: 60 })
    expect((await ask('GET', `/keys/${keyId}`)).body).toMatchObject({ expiresAt })
  })

  test('is for keys that work', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const { keyId } = await database.operator.createKey(account)
    await ask('POST', `/keys/${keyId}/rotate`, { overlapSeconds: 0 })
    const answer = await ask('POST', `/keys/${keyId}/rotate`, { overlapSeconds: 0 })
    expect(answer).toEqual({ status: 409, body: refusal('conflict') })
    const { keyId: other } = await database.operator.createKey(account)
    expect(await ask('POST', `/keys/${other}/rotate`)).toEqual({
      status: 400,
      body: refusal('invalid_request', 'overlapSeconds'),
    })
  })

  test('is once for each key: a repeated call names the successor', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const { keyId } = await database.operator.createKey(account)
    const rotate = (key: string) => ask('POST', `/keys/${key}/rotate`, { overlapSeconds: 60 })
    const successor = Key.parse((await rotate(keyId)).body)
    expect(await rotate(keyId)).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', message: expect.stringContaining(successor.id) } },
    })
    expect(await rotate(successor.id)).toMatchObject({ status: 201, body: { expiresAt: null } })
  })

  test('is refused while the account is closed, and changes nothing', async ({ database, ask }) => {
    const account = await database.operator.createAccount()
    const { keyId } = await database.operator.createKey(account)
    const before = (await ask('GET', `/keys?account=${account}`)).body
    await ask('POST', `/accounts/${account}/close`, { reason: 'contract ended' })
    const answer = await ask('POST', `/keys/${keyId}/rotate`, { overlapSeconds: 60 })
    expect(answer).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', message: 'The account is closed.' } },
    })
    expect((await ask('GET', `/keys?account=${account}`)).body).toEqual(before)
    await ask('POST', `/accounts/${account}/reopen`, { reason: 'contract renewed' })
    expect(await ask('POST', `/keys/${keyId}/rotate`, { overlapSeconds: 60 })).toMatchObject({ status: 201 })
  })
})
