import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createAdminServer } from '#apps/billing/admin/serve-admin.ts'
import { hashApiKey, isWellFormedApiKey } from '#libs/api-key/api-key.ts'
import { log, openBillingDatabase, reserveCall, type BillingDatabase } from './billing-database.ts'

const TOKEN = 'an-admin-token-of-the-tests'

let database: BillingDatabase
let app: FastifyInstance

beforeAll(async () => {
  database = await openBillingDatabase()
  app = createAdminServer({ operations: database.operations, token: TOKEN, log })
})
afterEach(() => database.expectReconciled())
afterAll(async () => {
  await app.close()
  await database.close()
})

type Asked = { status: number; body: unknown }

async function ask(method: 'GET' | 'POST', url: string, payload?: object): Promise<Asked> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const response = await app.inject({ method, url, headers, ...(payload && { payload }) })
  return { status: response.statusCode, body: response.json() }
}

async function newAccount(): Promise<string> {
  const { body } = await ask('POST', '/admin/accounts', { name: 'Ada' })
  return z.object({ id: z.uuid() }).parse(body).id
}

const topup = (fields: object = {}) => ({
  credits: '1.5',
  idempotencyKey: 'one',
  reason: 'invoice 1',
  ...fields,
})

const failure = (code: string, message: unknown = expect.any(String)) => ({
  error: { code, message, type: expect.any(String) },
})

describe('accounts', () => {
  test('begin empty', async () => {
    const id = await newAccount()
    expect(await ask('GET', `/admin/accounts/${id}`)).toEqual({
      status: 200,
      body: {
        id,
        name: 'Ada',
        status: 'active',
        postedNano: '0',
        heldNano: '0',
        availableNano: '0',
        openHolds: 0,
        createdAt: '2030-01-01T00:00:00.000Z',
      },
    })
  })

  test('show what is held', async () => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    await database.money.reserve([reserveCall(keyId)])
    expect(await ask('GET', `/admin/accounts/${accountId}`)).toMatchObject({
      body: { postedNano: '1000', heldNano: '700', availableNano: '300', openHolds: 1 },
    })
  })

  test('need a name, and only a name', async () => {
    for (const payload of [{}, { name: ' ' }, { name: 'x', credits: '1' }, []]) {
      expect(await ask('POST', '/admin/accounts', payload)).toEqual({
        status: 400,
        body: failure('invalid_request'),
      })
    }
  })
})

describe('top-ups', () => {
  test('give credits once for one idempotency key', async () => {
    const id = await newAccount()
    const first = await ask('POST', `/admin/accounts/${id}/topups`, topup())
    expect(first).toMatchObject({
      status: 201,
      body: { amountNano: '1500000000', postedNano: '1500000000', replayed: false },
    })
    const again = await ask('POST', `/admin/accounts/${id}/topups`, topup())
    expect(again.body).toEqual({ ...z.object({}).loose().parse(first.body), replayed: true })
    expect(await database.balance(id)).toMatchObject({ posted: 1_500_000_000n })
  })

  test('refuse the same key with another amount or reason', async () => {
    const id = await newAccount()
    await ask('POST', `/admin/accounts/${id}/topups`, topup())
    for (const change of [{ credits: '2' }, { reason: 'invoice 2' }]) {
      expect(await ask('POST', `/admin/accounts/${id}/topups`, topup(change))).toEqual({
        status: 409,
        body: failure('conflict'),
      })
    }
  })

  test('may be given in nano-credits', async () => {
    const id = await newAccount()
    const payload = { amountNano: '7', idempotencyKey: 'n', reason: 'r' }
    expect(await ask('POST', `/admin/accounts/${id}/topups`, payload)).toMatchObject({
      body: { postedNano: '7' },
    })
  })

  test.each([
    ['both amounts', { amountNano: '1' }],
    ['no amount', { credits: undefined }],
    ['nothing', { credits: '0' }],
    ['a negative amount', { credits: '-1' }],
    ['a number, which JSON readers round', { credits: 1.5 }],
    ['text that is no amount', { credits: 'lots' }],
    ['more than an account can hold', { credits: '9999999999' }],
    ['no idempotency key', { idempotencyKey: undefined }],
    ['no reason', { reason: '' }],
  ])('refuse %s', async (_, change) => {
    const id = await newAccount()
    const answer = await ask('POST', `/admin/accounts/${id}/topups`, topup(change))
    expect(answer).toEqual({ status: 400, body: failure('invalid_request') })
  })

  test('of an unknown account are not found', async () => {
    expect(await ask('POST', `/admin/accounts/${randomUUID()}/topups`, topup())).toEqual({
      status: 404,
      body: failure('not_found'),
    })
  })
})

describe('keys', () => {
  const Key = z.object({ id: z.uuid(), secret: z.string(), prefix: z.string(), last4: z.string() })

  test('are shown once, are well formed, and are stored as their hash only', async () => {
    const id = await newAccount()
    const { status, body } = await ask('POST', `/admin/accounts/${id}/keys`, { name: 'laptop' })
    const key = Key.parse(body)
    expect(status).toBe(201)
    expect(isWellFormedApiKey(key.secret)).toBe(true)
    expect(key.secret.startsWith(key.prefix) && key.secret.endsWith(key.last4)).toBe(true)
    const { rows } = await database.pool.query<{ sha256: Buffer; everything: string }>(
      'select account_id, name, sha256, k::text as everything from api_keys k where id = $1',
      [key.id],
    )
    expect(rows).toMatchObject([{ account_id: id, name: 'laptop', sha256: hashApiKey(key.secret) }])
    expect(rows[0]?.everything).not.toContain(key.secret)
  })

  test('need no name, nor a body', async () => {
    const id = await newAccount()
    expect(await ask('POST', `/admin/accounts/${id}/keys`)).toMatchObject({
      status: 201,
      body: { name: null },
    })
  })

  test('can be revoked, and again is the same', async () => {
    const { keyId } = await database.createAccount(1_000n)
    const first = await ask('POST', `/admin/keys/${keyId}/revoke`)
    expect(first).toEqual({ status: 200, body: { id: keyId, revokedAt: '2030-01-01T00:00:00.000Z' } })
    database.clock.nowMs += 1_000
    expect(await ask('POST', `/admin/keys/${keyId}/revoke`)).toEqual(first)
    database.clock.nowMs -= 1_000
    expect(await database.money.reserve([reserveCall(keyId)])).toEqual([{ status: 'key-invalid' }])
  })

  test('of unknown accounts, and unknown keys, are not found', async () => {
    const notFound = { status: 404, body: failure('not_found') }
    expect(await ask('POST', `/admin/accounts/${randomUUID()}/keys`)).toEqual(notFound)
    expect(await ask('POST', `/admin/keys/${randomUUID()}/revoke`)).toEqual(notFound)
  })
})

test.each([
  ['no token', {}],
  ['a wrong token', { authorization: 'Bearer something-else' }],
  ['a part of the token', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
  ['the token without its scheme', { authorization: TOKEN }],
])('with %s nothing is done', async (_, headers) => {
  for (const url of ['/admin/reconcile', '/admin/nowhere', `/admin/accounts/${randomUUID()}`]) {
    const response = await app.inject({ method: 'GET', url, headers })
    expect([response.statusCode, response.json()]).toEqual([401, failure('invalid_token')])
  }
})

test('JSON is read whatever content type it comes with, as curl sends it', async () => {
  const response = await app.inject({
    method: 'POST',
    url: '/admin/accounts',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-www-form-urlencoded' },
    payload: '{"name":"Ada"}',
  })
  expect(response.statusCode).toBe(201)
})

test('what is not there, and what is not JSON, is said in the same form', async () => {
  expect(await ask('GET', '/admin/nowhere')).toEqual({ status: 404, body: failure('not_found') })
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const broken = await app.inject({ method: 'POST', url: '/admin/accounts', headers, payload: '{' })
  expect([broken.statusCode, broken.json()]).toEqual([
    400,
    failure('invalid_request', 'the body is not JSON'),
  ])
  const large = await app.inject({
    method: 'POST',
    url: '/admin/accounts',
    headers,
    payload: `"${'x'.repeat(70_000)}"`,
  })
  expect([large.statusCode, large.json()]).toEqual([400, failure('invalid_request')])
})

test('reconciliation counts what does not agree', async () => {
  const { accountId } = await database.createAccount(1_000n)
  await database.pool.query('update accounts set posted = posted + 1 where id = $1', [accountId])
  const { body } = await ask('GET', '/admin/reconcile')
  expect(body).toMatchObject({ 'posted-differs-from-ledger': 1, 'held-differs-from-open-holds': 0 })
  await database.pool.query('update accounts set posted = posted - 1 where id = $1', [accountId])
})
