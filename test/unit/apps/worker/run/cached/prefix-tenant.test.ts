import { expect, test } from 'vitest'
import { createPrefixTenantOf } from '#apps/worker/run/cached/prefix-tenant.ts'

const tenant = (accountId: string, keyId: string) => ({ tenant: { accountId, keyId } })
const [first, second, other] = [tenant('a', 'k1'), tenant('a', 'k2'), tenant('b', 'k3')]

const namesOf = (sharing: 'account' | 'key' | 'all', secret = 'secret') =>
  [first, second, other].map(createPrefixTenantOf({ sharing, secret }))

test('the keys of an account share one name, and other accounts have others', () => {
  const [one, two, three] = namesOf('account')
  expect(two).toBe(one)
  expect(three).not.toBe(one)
})

test('each key has a name of its own where keys are kept apart', () => {
  expect(new Set(namesOf('key')).size).toBe(3)
})

test('nobody has a name where all share', () => {
  expect(namesOf('all')).toEqual([null, null, null])
})

test('a name shows neither the account nor the key, and is another one with another secret', () => {
  const uuid = '00000000-0000-7000-8000-000000000000'
  const nameOf = (sharing: 'account' | 'key', secret: string) =>
    createPrefixTenantOf({ sharing, secret })(tenant(uuid, uuid))
  const names = [nameOf('account', 'x'), nameOf('account', 'y'), nameOf('key', 'x')]
  expect(new Set(names).size).toBe(3)
  for (const name of names) expect(name).toMatch(/^[\w-]{22}$/)
})
