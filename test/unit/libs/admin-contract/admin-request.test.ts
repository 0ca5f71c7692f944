import { expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toAdminRequest } from '#libs/admin-contract/admin-request.ts'

test('a value in a path cannot become another path', () => {
  const input = { account: '../credentials?x', reason: 'näe' }
  expect(toAdminRequest(ADMIN.closeAccount, input)).toEqual({
    method: 'POST',
    target: '/admin/v1/accounts/..%2Fcredentials%3Fx/close',
    body: '{"reason":"näe"}',
  })
})

test('the input of a GET is its query, without undefined fields', () => {
  const input = { name: 'a&b', status: undefined, limit: 5 }
  expect(toAdminRequest(ADMIN.listAccounts, input)).toEqual({
    method: 'GET',
    target: '/admin/v1/accounts?name=a%26b&limit=5',
    body: undefined,
  })
  expect(toAdminRequest(ADMIN.exportLedger, { format: 'csv' }).target).toBe('/admin/v1/ledger?format=csv')
})

test('a change may have a query beside its body', () => {
  const input = { models: [], dryRun: false, effectiveAt: undefined }
  expect(toAdminRequest(ADMIN.publishCatalog, input)).toEqual({
    method: 'POST',
    target: '/admin/v1/catalog?dryRun=false',
    body: '{"models":[]}',
  })
})

test('a change without fields has an empty object as its body', () => {
  expect(toAdminRequest(ADMIN.revokeKey, { key: 'k', reason: undefined }).body).toBe('{}')
})
