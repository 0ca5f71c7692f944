import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { createAuthentication } from '#apps/gateway/callers/authentication.ts'
import { openManagedAccount, type ManagedAccount } from '../billing/support/managed-account.ts'
import { always, CHAT, END, MODEL, serveApp } from './gateway-app.ts'

const Refused = z.object({
  error: z.object({ code: z.string(), message: z.string(), param: z.string().optional() }),
})

let managed: ManagedAccount
let url: string
let logged: string[]
let generations: number

beforeAll(async () => {
  managed = await openManagedAccount()
})
afterAll(() => managed.close())

/** The gateway runs in front of a real billing. */
beforeEach(async () => {
  const { billing, database } = managed
  const nowMs = () => database.clock.nowMs
  generations = 0
  const core = always([END])
  const app = await serveApp(
    async (...call) => {
      generations += 1
      await core(...call)
    },
    {},
    {
      ...createAuthentication({ billing, nowMs, wallClockMs: nowMs }),
      askAccount: billing.askAccount,
      nowMs,
      wallClockMs: nowMs,
    },
  )
  ;({ url, logged } = app)
})

type Ask = { method?: string; body?: unknown; key?: string; headers?: Record<string, string> }

async function ask(path: string, { method = 'GET', body, key = managed.manager.secret, headers }: Ask = {}) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const answer: unknown = response.headers.get('content-type')?.startsWith('application/json')
    ? await response.json()
    : await response.text()
  return { status: response.status, headers: response.headers, answer }
}

async function refusalOf(path: string, given: Ask = {}) {
  const { status, answer } = await ask(path, given)
  const { error } = Refused.parse(answer)
  return [status, error.code, error.param ?? null]
}

async function create(body: object = {}, headers: Record<string, string> = {}) {
  const { status, answer } = await ask('/keys', { method: 'POST', body, headers })
  expect(status).toBe(201)
  return ACCOUNT.createKey.answer.parse(answer)
}

test('a management key makes a key, reads, changes, rotates and revokes it', async () => {
  const made = await create({
    name: 'laptop',
    limit: 0.000_000_8,
    limit_reset: 'daily',
    expires_at: '2030-06-01T02:00:00+02:00',
    models: ['chat'],
    requests_per_minute: 60,
    tokens_per_minute: 1_000,
  })
  const { id } = made.data
  expect(made).toMatchObject({
    key: expect.stringMatching(/^mr_live_/),
    replayed: false,
    data: {
      name: 'laptop',
      status: 'active',
      limit: 8e-7,
      limit_remaining: 8e-7,
      limit_reset: 'daily',
      expires_at: '2030-06-01T00:00:00.000Z',
      models: ['chat'],
      requests_per_minute: 60,
      tokens_per_minute: 1_000,
      usage: 0,
      nano: { limit: '800', usage: '0' },
    },
  })
  expect((await ask('/models', { key: made.key ?? '' })).status).toBe(200)

  const read = async (path: string, given: Ask = {}) => {
    const { status, answer } = await ask(path, given)
    expect(status).toBe(200)
    return ACCOUNT.readAccountKey.answer.parse(answer).data
  }
  expect(await read(`/keys/${id}`)).toEqual(made.data)
  const change = async (body: object) => await read(`/keys/${id}`, { method: 'PATCH', body })
  expect(await change({ limit: null, limit_reset: null, name: null, models: null })).toMatchObject({
    limit: null,
    limit_reset: null,
    name: null,
    models: null,
    requests_per_minute: 60,
  })
  expect(await change({ limit: 1.5, disabled: true })).toMatchObject({
    limit: 1.5,
    limit_reset: null,
    disabled: true,
    status: 'disabled',
  })
  await expect.poll(async () => (await ask('/key', { key: made.key ?? '' })).status).toBe(401)
  managed.database.clock.nowMs += 10_000
  await change({ disabled: false, expires_at: null, requests_per_minute: null, tokens_per_minute: null })

  const rotated = await ask(`/keys/${id}/rotate`, { method: 'POST', body: { overlap_seconds: 60 } })
  expect([rotated.status, rotated.headers.get('cache-control')]).toEqual([201, 'no-store'])
  expect(ACCOUNT.createKey.answer.parse(rotated.answer)).toMatchObject({
    key: expect.stringMatching(/^mr_live_/),
    data: { rotated_from: id, limit: 1.5 },
  })
  for (const _again of [1, 2]) {
    const revoked = await ask(`/keys/${id}`, { method: 'DELETE' })
    expect(revoked).toMatchObject({ status: 200, answer: { deleted: true, data: { id, status: 'revoked' } } })
  }
  expect(await refusalOf(`/keys/${id}`, { method: 'PATCH', body: { name: 'a' } })).toEqual([
    409,
    'invalid_request',
    null,
  ])
  expect(logged.join('\n')).not.toMatch(/mr_(live|manage)_[0-9A-Za-z]{6}/)
})

test('keys are listed by pages, with those of the operator, and of no other account', async () => {
  await managed.database.createAccount(0n)
  managed.database.clock.nowMs += 10_000
  const made = await create({ name: 'newest' })
  const first = ACCOUNT.listKeys.answer.parse((await ask('/keys?limit=1')).answer)
  expect(first.data).toEqual([made.data])
  const rest = ACCOUNT.listKeys.answer.parse((await ask(`/keys?cursor=${first.next_cursor}`)).answer)
  expect(rest.data.map(({ id }) => id)).toContain(managed.account.keyId)
  expect(rest.data.map(({ id }) => id)).not.toContain(made.data.id)
  expect(rest.next_cursor).toBeNull()
  const { data } = await managed.database.operator.call(ADMIN.listKeys, {
    account: managed.account.accountId,
  })
  expect(rest.data.length + 1).toBe(data.length)
  expect(await refusalOf('/keys?limit=51')).toEqual([400, 'invalid_request', 'limit'])
  expect(await refusalOf('/keys?cursor=x')).toEqual([400, 'invalid_request', 'cursor'])
})

describe('an API key', () => {
  it.each([
    ['GET', '/keys'],
    ['POST', '/keys'],
    ['GET', '/keys/8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'],
    ['PATCH', '/keys/8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'],
    ['DELETE', '/keys/8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'],
    ['POST', '/keys/8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77/rotate'],
  ])('may not %s %s, and the refusal names management keys', async (method, path) => {
    const body = method === 'POST' || method === 'PATCH' ? { body: {} } : {}
    const { status, answer } = await ask(path, { method, ...body, key: managed.account.secret })
    expect([status, Refused.parse(answer).error]).toMatchObject([
      403,
      { code: 'wrong_key', message: expect.stringContaining('management key (mr_manage_…)') },
    ])
    const wrong = `${managed.account.secret.slice(0, -1)}${managed.account.secret.endsWith('0') ? '1' : '0'}`
    expect(await refusalOf(path, { method, ...body, key: wrong })).toEqual([401, 'invalid_key', null])
  })
})

describe('a management key', () => {
  it.each([
    ['/chat/completions', CHAT],
    ['/chat/completions', { ...CHAT, stream: true }],
    ['/responses', { model: MODEL, input: 'Hi' }],
    ['/completions', { model: MODEL, prompt: 'Hi' }],
    ['/embeddings', { model: 'vectors', input: 'Hi' }],
  ])('cannot spend by %s', async (path, body) => {
    const { status, answer } = await ask(path, { method: 'POST', body })
    expect([status, Refused.parse(answer).error]).toMatchObject([
      403,
      { code: 'wrong_key', message: expect.stringContaining('This is a management key') },
    ])
    expect(generations).toBe(0)
    expect(await managed.database.balance(managed.account.accountId)).toMatchObject({ held: 0n })
  })

  it('reads the account, and spends nothing', async () => {
    expect((await ask('/key')).answer).toMatchObject({
      data: {
        label: expect.stringMatching(/^mr_manage_/),
        name: 'tool',
        is_management_key: true,
        limit: null,
        spendable: 0,
        available: 0.00001,
      },
    })
    expect((await ask('/key', { key: managed.account.secret })).answer).toMatchObject({
      data: { is_management_key: false, spendable: 0.00001 },
    })
    expect((await ask('/credits')).answer).toMatchObject({ data: { nano: { available: '10000' } } })
    expect((await ask('/generations')).answer).toMatchObject({ data: [], next_cursor: null })
    expect((await ask('/activity')).answer).toMatchObject({ data: [] })
    const id = '01a1ff19-4bd8-7c31-9a55-0242ac120002'
    expect(await refusalOf(`/generation?id=${id}`)).toEqual([404, 'invalid_request', 'id'])
    expect((await ask('/models')).status).toBe(200)
  })

  it('that is revoked is refused at once, also where it was used a moment ago', async () => {
    const { database, createManager, account } = managed
    const { id, secret } = await createManager(account.accountId)
    expect((await ask('/keys', { key: secret })).status).toBe(200)
    await database.operator.call(ADMIN.revokeManagementKey, { managementKey: id })
    for (const [method, path, body] of [
      ['GET', '/keys', undefined],
      ['POST', '/keys', {}],
      ['PATCH', `/keys/${account.keyId}`, { name: 'mine' }],
      ['DELETE', `/keys/${account.keyId}`, undefined],
      ['GET', '/key', undefined],
      ['GET', '/credits', undefined],
      ['GET', '/generations', undefined],
      ['GET', '/activity', undefined],
    ] as const) {
      expect(await refusalOf(path, { method, body, key: secret })).toEqual([401, 'invalid_key', null])
    }
  })

  it('that expires is refused from then on, and one that is unknown always', async () => {
    const { database, createManager, account } = managed
    const expiresAt = new Date(database.clock.nowMs + 5_000).toISOString()
    const { secret } = await createManager(account.accountId, { expiresAt })
    expect((await ask('/keys', { key: secret })).status).toBe(200)
    database.clock.nowMs += 5_000
    expect(await refusalOf('/keys', { key: secret })).toEqual([401, 'invalid_key', null])
    expect(await refusalOf('/keys', { key: 'mr_manage_x' })).toEqual([401, 'invalid_key', null])
  })

  it('finds no key of another account', async () => {
    const foreign = await managed.database.createAccount(0n)
    const path = `/keys/${foreign.keyId}`
    const notFound = [404, 'invalid_request', null]
    expect(await refusalOf(path)).toEqual(notFound)
    expect(await refusalOf(path, { method: 'PATCH', body: { name: 'mine' } })).toEqual(notFound)
    expect(await refusalOf(path, { method: 'DELETE' })).toEqual(notFound)
    const rotate = { method: 'POST', body: { overlap_seconds: 0 } }
    expect(await refusalOf(`${path}/rotate`, rotate)).toEqual(notFound)
    expect(await refusalOf('/keys/x')).toEqual(notFound)
    const { name, status } = await managed.database.operator.call(ADMIN.readKey, { key: foreign.keyId })
    expect([name, status]).toEqual([null, 'active'])
  })

  it('is refused after a burst', async () => {
    const { secret } = await managed.createManager(managed.account.accountId)
    const path = `/keys/${managed.account.keyId}`
    const statuses = []
    for (let n = 0; n < 12; n += 1) statuses.push((await ask(path, { key: secret })).status)
    expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(statuses.slice(10)).toEqual([429, 429])
  })
})

test('the same idempotency-key makes one key', async () => {
  const headers = { 'idempotency-key': 'a key for the laptop' }
  const body = { name: 'once', limit: 2 }
  const [first, again] = await Promise.all([create(body, headers), create(body, headers)])
  expect(first.data.id).toBe(again.data.id)
  expect(new Set([first.replayed, again.replayed])).toEqual(new Set([false, true]))
  expect([first.key, again.key].filter((key) => key === null)).toHaveLength(1)
  expect(await refusalOf('/keys', { method: 'POST', body: { name: 'other' }, headers })).toEqual([
    409,
    'invalid_request',
    null,
  ])
  const empty = { method: 'POST', body, headers: { 'idempotency-key': 'x'.repeat(201) } }
  expect(await refusalOf('/keys', empty)).toEqual([400, 'invalid_request', 'idempotency-key'])
})

test.each([
  ['limti', { limti: 5 }],
  ['name', { name: ' ' }],
  ['limit', { limit: 0 }],
  ['limit', { limit: 1e-10 }],
  ['limit', { limit: 1.0000000001 }],
  ['limit', { limit: 1_000_001 }],
  ['limit', { limit_reset: 'daily' }],
  ['limit_reset', { limit: 1, limit_reset: 'yearly' }],
  ['expires_at', { expires_at: '2029-12-31T00:00:00Z' }],
  ['expires_at', { expires_at: '1970-01-01T00:00:00Z' }],
  ['expires_at', { expires_at: 'tomorrow' }],
  ['models', { models: [] }],
  ['models', { models: ['nope'] }],
  ['requests_per_minute', { requests_per_minute: 0 }],
  ['tokens_per_minute', { tokens_per_minute: 1.5 }],
])('a wrong %s is refused, and changes nothing', async (param, body) => {
  managed.database.clock.nowMs += 10_000
  const keys = async () =>
    (await managed.database.operator.call(ADMIN.listKeys, { account: managed.account.accountId })).data
  const before = await keys()
  expect(await refusalOf('/keys', { method: 'POST', body })).toEqual([400, 'invalid_request', param])
  const path = `/keys/${managed.account.keyId}`
  expect(await refusalOf(path, { method: 'PATCH', body })).toEqual([400, 'invalid_request', param])
  expect(await refusalOf(path, { method: 'PATCH', body: {} })).toEqual([400, 'invalid_request', null])
  expect(await keys()).toEqual(before)
})
