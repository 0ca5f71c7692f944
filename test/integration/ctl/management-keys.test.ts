import { afterAll, beforeAll, expect, test } from 'vitest'
import { isWellFormedManagementKey } from '#libs/api-key/api-key.ts'
import {
  ADMIN_TOKEN,
  openBillingDatabase,
  type BillingDatabase,
} from '../billing/support/billing-database.ts'
import { millrace } from './millrace.ts'

let database: BillingDatabase
let url = ''

beforeAll(async () => {
  database = await openBillingDatabase()
  url = await database.admin.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => database.close())

async function shown(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await millrace(words, {
    MILLRACE_ADMIN_URL: url,
    MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
  })
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`)
  return stdout
}

test('management-keys: create, list, revoke', async () => {
  const account = await database.operator.createAccount()
  const created = await shown(
    'management-keys',
    'create',
    account,
    '--name',
    'deployment',
    '--expires-at',
    '2030-06-01T00:00:00Z',
    '--reason',
    'ticket 12',
  )
  const secret = /^mr_manage_.*$/m.exec(created)?.[0] ?? ''
  expect(isWellFormedManagementKey(secret)).toBe(true)
  expect(created).toMatch(/^expires +2030-06-01 00:00:00Z$/m)
  const list = await shown('management-keys', 'list', '--account', account)
  expect(list).toMatch(/deployment +mr_manage_..….{4} +active +2030-06-01 00:00:00Z/)
  expect(list).not.toContain(secret)
  const id = /^management key +(\S+)$/m.exec(created)?.[1] ?? ''
  expect(await shown('management-keys', 'revoke', id)).toMatch(/^revoked +2030-01-01 00:00:00Z$/m)
  expect(await shown('audit', '--target', id)).toContain('createManagementKey')
})
