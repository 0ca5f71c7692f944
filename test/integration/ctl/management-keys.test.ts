import { expect } from 'vitest'
import { isWellFormedManagementKey } from '#libs/api-key/api-key.ts'
import { test } from './ctl-test.ts'

test('management-keys: create, list, revoke', async ({ database, shown }) => {
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
