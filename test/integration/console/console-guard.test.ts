import type { FastifyInstance } from 'fastify'
import { expect } from 'vitest'
import { ADMIN_TOKEN } from '../billing/support/billing-database.ts'
import { HEADERS, ORIGIN, test } from './console-test.ts'

const CHANGE = { name: 'made' }

/** Signs in and returns the cookie, as a browser sends it back. */
async function cookieOf(app: FastifyInstance): Promise<string> {
  const payload = { token: ADMIN_TOKEN }
  const response = await app.inject({ method: 'POST', url: '/api/session', headers: HEADERS, payload })
  const [cookie = ''] = String(response.headers['set-cookie']).split(';')
  return cookie
}

test.for([
  '/%61pi/admin/accounts',
  '/ap%69/admin/accounts',
  '/%61%70%69/admin/accounts',
  '/api/%61dmin/accounts',
  '/api%2fadmin/accounts',
  '/API/admin/accounts',
  '/api;x/admin/accounts',
  '//api/admin/accounts',
  '/./api/admin/accounts',
  '/assets/../api/admin/accounts',
  '/api/admin/accounts?x',
  '/api/admin/accounts;x',
  '/nothing',
])(
  'a request of another page is refused however its address %s is written',
  async (url, { database, createConsole }) => {
    const app = createConsole()
    const cookie = await cookieOf(app)
    const before = await database.operator.ask('GET', '/accounts')
    const form = { ...HEADERS, cookie, 'sec-fetch-site': 'same-site', 'content-type': 'text/plain' }
    const payload = JSON.stringify(CHANGE)
    const changing = await app.inject({ method: 'POST', url, headers: form, payload })
    expect([changing.statusCode, changing.json().error.code]).toEqual([403, 'foreign_origin'])
    const crossSite = { ...HEADERS, cookie, 'sec-fetch-site': 'cross-site' }
    const reading = await app.inject({ url, headers: crossSite })
    expect([reading.statusCode, reading.json().error.code]).toEqual([403, 'foreign_origin'])
    expect(await database.operator.ask('GET', '/accounts')).toEqual(before)
  },
)

test.for(['/%61pi/session', '/api/sessio%6e'])(
  'a request of another page opens no session at %s',
  async (url, { createConsole }) => {
    const headers = { ...HEADERS, 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' }
    const payload = JSON.stringify({ token: ADMIN_TOKEN })
    const response = await createConsole().inject({ method: 'POST', url, headers, payload })
    expect([response.statusCode, response.headers['set-cookie']]).toEqual([403, undefined])
  },
)

test.for(['/live/v1/now', '/liv%65/v1/now', '/%6cive/v1/stream?view=now'])(
  'a request of another page reads nothing live at %s',
  async (url, { createConsole }) => {
    const app = createConsole({
      serveLive(server) {
        for (const path of ['/live/v1/now', '/live/v1/stream']) server.get(path, async () => 'live')
      },
    })
    const read = async (site: string) =>
      (await app.inject({ url, headers: { ...HEADERS, 'sec-fetch-site': site } })).statusCode
    expect([await read('same-origin'), await read('cross-site')]).toEqual([200, 403])
  },
)

test('a request for the page and its files may come from anywhere', async ({ createConsole, page }) => {
  const app = createConsole()
  const headers = { host: ORIGIN.host, 'sec-fetch-site': 'cross-site' }
  for (const url of ['/', '/?from=elsewhere', ...page.assets.keys()]) {
    expect({ url, status: (await app.inject({ url, headers })).statusCode }).toEqual({ url, status: 200 })
  }
})

test('a program with a bearer may use another name of the console, and a browser with a cookie may not', async ({
  createConsole,
}) => {
  const app = createConsole()
  const ask = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/api/admin/me', headers: { ...HEADERS, host: '127.0.0.1:8091', ...headers } }))
      .statusCode
  expect(await ask({ authorization: `Bearer ${ADMIN_TOKEN}` })).toBe(200)
  expect(await ask({ cookie: await cookieOf(app) })).toBe(421)
  expect(await ask({ authorization: 'Basic x', cookie: await cookieOf(app) })).toBe(401)
})
