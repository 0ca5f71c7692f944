import { once } from 'node:events'
import { createServer } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { describe, expect, onTestFinished } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { freePort } from '#test/support/free-port.ts'
import { ADMIN_TOKEN } from '../billing/support/billing-database.ts'
import { HEADERS, ORIGIN, test } from './console-test.ts'

async function signIn(app: FastifyInstance, token = ADMIN_TOKEN) {
  return await app.inject({ method: 'POST', url: '/api/session', headers: HEADERS, payload: { token } })
}

/** Returns the headers that have a value. */
function present(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/** Signs in and returns the cookie, as a browser sends it back. */
async function cookieOf(app: FastifyInstance): Promise<string> {
  const [cookie = ''] = String((await signIn(app)).headers['set-cookie']).split(';')
  return cookie
}

describe('a session', () => {
  test('is in a cookie that no script reads and no other site sends; its token is in no body', async ({
    createConsole,
  }) => {
    const response = await signIn(createConsole())
    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({ name: 'bootstrap', role: 'owner' })
    expect(String(response.headers['set-cookie'])).toMatch(
      /^__Host-mr=mr_session_[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
  })

  test('on plain loopback has a cookie that browsers keep there', async ({ createConsole }) => {
    const origin = new URL('http://127.0.0.1:8091')
    const app = createConsole({ origin })
    const headers = { ...HEADERS, host: origin.host }
    const payload = { token: ADMIN_TOKEN }
    const response = await app.inject({ method: 'POST', url: '/api/session', headers, payload })
    expect(String(response.headers['set-cookie'])).toMatch(/^mr=mr_session_.*; SameSite=Strict$/)
  })

  test('that has been signed out is refused by billing, and its cookie is cleared', async ({
    createConsole,
  }) => {
    const app = createConsole()
    const cookie = await cookieOf(app)
    const headers = { ...HEADERS, cookie }
    expect((await app.inject({ url: '/api/admin/me', headers })).json()).toMatchObject({ name: 'bootstrap' })
    expect(
      (await app.inject({ method: 'DELETE', url: '/api/session', headers, payload: {} })).statusCode,
    ).toBe(204)
    const refused = await app.inject({ url: '/api/admin/me', headers })
    expect(refused.statusCode).toBe(401)
    expect(String(refused.headers['set-cookie'])).toMatch(/^__Host-mr=; Max-Age=0/)
  })

  test('comes from a ticket once', async ({ database, createConsole }) => {
    const app = createConsole()
    const opened = await database.operator.ask('POST', '/sessions', { ticket: true })
    const { ticket } = ADMIN.openSession.answer.options[1].parse(opened.body)
    const ask = async () =>
      (await app.inject({ method: 'POST', url: '/api/session', headers: HEADERS, payload: { ticket } }))
        .statusCode
    expect(await ask()).toBe(201)
    expect(await ask()).toBe(401)
  })

  test('is refused to an address after ten wrong tokens, also with the right one, until six seconds later', async ({
    createConsole,
  }) => {
    let nowMs = 0
    const app = createConsole({ nowMs: () => nowMs })
    for (let tries = 0; tries < 10; tries += 1) expect((await signIn(app, 'wrong')).statusCode).toBe(401)
    expect((await signIn(app)).statusCode).toBe(429)
    nowMs += 5_999
    expect((await signIn(app)).statusCode).toBe(429)
    nowMs += 1
    expect((await signIn(app)).statusCode).toBe(201)
  })
})

describe('failed sign-ins behind a proxy', () => {
  async function signInFrom(app: FastifyInstance, remoteAddress: string, forwarded: string) {
    const headers = { ...HEADERS, 'x-forwarded-for': forwarded }
    const asked = { method: 'POST', url: '/api/session', headers, remoteAddress } as const
    return (await app.inject({ ...asked, payload: { token: 'wrong' } })).statusCode
  }

  test('are counted by the address that a trusted proxy names', async ({ createConsole }) => {
    const app = createConsole({ trustedProxies: ['10.0.0.0/8'] })
    for (let tries = 0; tries < 10; tries += 1) await signInFrom(app, '10.1.2.3', '192.0.2.1')
    expect(await signInFrom(app, '10.9.9.9', '192.0.2.1')).toBe(429)
    expect(await signInFrom(app, '10.1.2.3', '192.0.2.2')).toBe(401)
    // The address that the viewer itself wrote comes before the address that the proxy added.
    expect(await signInFrom(app, '10.1.2.3', '192.0.2.3, 192.0.2.1')).toBe(429)
  })

  test.for([
    ['no proxy is trusted', []],
    ['the sender is not one that is trusted', ['10.0.0.0/8']],
  ] as const)('are counted by the connection when %s', async ([, trusted], { createConsole }) => {
    const app = createConsole({ trustedProxies: trusted })
    for (let tries = 0; tries < 10; tries += 1) await signInFrom(app, '198.51.100.7', `192.0.2.${tries}`)
    expect(await signInFrom(app, '198.51.100.7', '192.0.2.99')).toBe(429)
    expect(await signInFrom(app, '198.51.100.8', '192.0.2.1')).toBe(401)
  })
})

describe('a request', () => {
  const change = { method: 'POST', url: '/api/admin/accounts', payload: { name: 'made' } } as const

  test.for([
    ['another host', { host: 'attacker.example' }, 421],
    ['the host with another port', { host: 'console.example:8091' }, 421],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a sibling of the site', { 'sec-fetch-site': 'same-site' }, 403],
    [
      'an old browser on another page',
      { 'sec-fetch-site': undefined, origin: 'https://attacker.example' },
      403,
    ],
    ['neither a browser nor a program', { 'sec-fetch-site': undefined }, 403],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a form that says text', { 'content-type': 'text/plain' }, 415],
    ['a script without the header of the page', { 'x-millrace-page': undefined }, 415],
  ] as const)('of %s is refused', async ([, changed, status], { database, createConsole }) => {
    const app = createConsole()
    const headers = present({ ...HEADERS, cookie: await cookieOf(app), ...changed })
    const before = await database.operator.ask('GET', '/accounts')
    expect((await app.inject({ ...change, headers })).statusCode).toBe(status)
    expect(await database.operator.ask('GET', '/accounts')).toEqual(before)
  })

  test('of the page is served, as is one of a browser without fetch metadata whose origin is the console', async ({
    createConsole,
  }) => {
    const app = createConsole()
    const cookie = await cookieOf(app)
    expect((await app.inject({ ...change, headers: { ...HEADERS, cookie } })).statusCode).toBe(201)
    const old = present({ ...HEADERS, cookie, 'sec-fetch-site': undefined, origin: ORIGIN.origin })
    expect((await app.inject({ ...change, headers: old })).statusCode).toBe(201)
  })

  test('of a program has a bearer and needs nothing else; a malformed one is not replaced by the cookie', async ({
    createConsole,
  }) => {
    const app = createConsole()
    const headers = {
      host: ORIGIN.host,
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': 'application/json',
    }
    expect((await app.inject({ ...change, headers })).statusCode).toBe(201)
    const both = { host: ORIGIN.host, authorization: 'Basic x', cookie: await cookieOf(app) }
    expect(
      (await app.inject({ ...change, headers: { ...both, 'content-type': 'application/json' } })).statusCode,
    ).toBe(401)
  })

  test('reaches the operations of the contract and nothing else', async ({ createConsole }) => {
    const app = createConsole()
    const headers = { ...HEADERS, cookie: await cookieOf(app) }
    const status = async (method: 'GET' | 'POST', url: string) =>
      (await app.inject({ method, url, headers, ...(method === 'POST' ? { payload: {} } : {}) })).statusCode
    expect(await status('POST', '/api/admin/sessions')).toBe(404)
    expect(await status('POST', '/api/admin/sessions/claim')).toBe(404)
    expect(await status('GET', '/api/admin/openapi.json')).toBe(404)
    expect(await status('GET', '/api/admin/accounts/..%2f..%2fme')).toBe(400)
    expect(await status('GET', '/api/admin/accounts/no-id')).toBe(400)
    expect(await status('GET', '/api/admin/accounts/../../../metrics')).toBe(404)
  })

  test('for an export is streamed', async ({ createConsole }) => {
    const app = createConsole()
    const response = await app.inject({
      url: '/api/admin/ledger?format=csv',
      headers: { ...HEADERS, cookie: await cookieOf(app) },
    })
    expect(response.headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(response.body.startsWith('seq,kind,')).toBe(true)
  })

  test('that billing never received is said to have done nothing', async ({ createConsole }) => {
    const app = createConsole({ billingUrl: `http://127.0.0.1:${await freePort()}` })
    const response = await app.inject({
      ...change,
      headers: { ...HEADERS, cookie: '__Host-mr=mr_session_x' },
    })
    expect([response.statusCode, response.json().error.code]).toEqual([503, 'billing_unreachable'])
  })
})

test('a billing that lacks an operation is said to be older, and what it does not find is not', async ({
  createConsole,
}) => {
  const older = createServer((request, response) => {
    const isKnown = request.url?.startsWith('/admin/v1/accounts') === true
    const message = isKnown ? 'There is no such account.' : 'There is no such operation.'
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message, type: 'api_error', code: 'not_found' } }))
  })
  older.listen(0, '127.0.0.1')
  await once(older, 'listening')
  onTestFinished(() => void older.close())
  const address = older.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const app = createConsole({ billingUrl: `http://127.0.0.1:${address.port}` })
  const headers = { ...HEADERS, cookie: '__Host-mr=mr_session_x' }
  const state = await app.inject({ url: '/api/admin/state', headers })
  expect([state.statusCode, state.json().error.code]).toEqual([501, 'older_billing'])
  const signedIn = await signIn(app)
  expect([signedIn.statusCode, signedIn.json().error.code]).toEqual([501, 'older_billing'])
  const id = '00000000-0000-7000-8000-000000000000'
  const account = await app.inject({ url: `/api/admin/accounts/${id}`, headers })
  expect([account.statusCode, account.json().error.message]).toEqual([404, 'There is no such account.'])
})

test('every answer has the strict policy, and only files with their hash in the address are kept', async ({
  createConsole,
}) => {
  const app = createConsole()
  const html = await app.inject({ url: '/', headers: { host: ORIGIN.host } })
  expect(html.headers).toMatchObject({
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  expect(html.headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html",
  )
  const [main = ''] = /\/assets\/main\.[\w-]+\.js/.exec(html.body) ?? []
  const asset = await app.inject({ url: main, headers: { host: ORIGIN.host, 'accept-encoding': 'gzip, br' } })
  expect(asset.headers).toMatchObject({
    'content-encoding': 'br',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
  })
  const refused = await app.inject({ url: '/api/admin/me', headers: { ...HEADERS, host: 'x' } })
  expect(refused.headers['content-security-policy']).toBe(html.headers['content-security-policy'])
})
