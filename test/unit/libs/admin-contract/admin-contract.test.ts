import { expect, test } from 'vitest'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { ACCOUNTS } from '#libs/admin-contract/resources/accounts.ts'

const OPERATIONS = Object.entries(ADMIN)

test('no two operations have the same method and path', () => {
  const routes = OPERATIONS.map(([, { method, path }]) => `${method} ${path}`)
  expect(routes.length).toBeGreaterThan(30)
  expect([...new Set(routes)]).toEqual(routes)
  expect(OPERATIONS.map(([id]) => id)).toEqual(expect.arrayContaining(Object.keys(ACCOUNTS)))
})

test.each(OPERATIONS)('%s: its path names its parameters, and no name is used twice', (_, operation) => {
  const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
  expect(named).toEqual(Object.keys(operation.params.shape))
  const body = z.toJSONSchema(operation.body, { io: 'input' }).properties ?? {}
  const names = [operation.params.shape, operation.query.shape, body].flatMap(Object.keys)
  expect([...new Set(names)]).toEqual(names)
})
