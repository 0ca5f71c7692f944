import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ADMIN_TOKEN,
  openBillingDatabase,
  type BillingDatabase,
} from '../billing/support/billing-database.ts'
import { millrace, spawnMillrace } from './millrace.ts'

let database: BillingDatabase
let url = ''

beforeAll(async () => {
  database = await openBillingDatabase()
  url = await database.admin.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => database.close())

test('console prints a link whose ticket opens one session, and needs the address of a console', async () => {
  const env = {
    MILLRACE_ADMIN_URL: url,
    MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
    MILLRACE_CONSOLE_URL: 'https://console.example/',
  }
  const { code, stdout } = await spawnMillrace(['console'], env)
  expect(code).toBe(0)
  const [, ticket] = /^https:\/\/console\.example\/#ticket=(\S+)\n$/u.exec(stdout) ?? []
  const claim = async () => {
    const headers = { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' }
    return (await fetch(`${url}/admin/v1/sessions/claim`, { method: 'POST', headers, body: '{}' })).status
  }
  expect([await claim(), await claim()]).toEqual([201, 401])
  expect(
    await millrace(['console'], { MILLRACE_ADMIN_URL: url, MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN }),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('MILLRACE_CONSOLE_URL'),
  })
})
