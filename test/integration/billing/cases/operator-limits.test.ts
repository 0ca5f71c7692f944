import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { refused } from '../support/ask-as.ts'
import { START_MS } from '../support/billing-database.ts'
import { openManagedAccount, type ManagedAccount } from '../support/managed-account.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const inDays = (days: number) => new Date(START_MS + days * DAY_MS)

let managed: ManagedAccount
let operator: ManagedAccount['database']['operator']
let create: ManagedAccount['create']
let rotate: ManagedAccount['rotate']
let key: string

beforeEach(async () => {
  managed = await openManagedAccount()
  ;({ create, rotate } = managed)
  ;({ operator } = managed.database)
  key = managed.account.keyId
})
afterEach(() => managed.close())

const limit = async (limits: object) => await operator.call(ADMIN.changeKey, { key, ...limits })
const change = async (settings: object) => await managed.change(key, settings)

/**
 * For each limit: the value that an operator sets, the changes that the account may make, and those it may not make.
 */
const LIMITS = [
  {
    name: 'models',
    param: 'models',
    set: { models: ['chat'] },
    less: { models: ['chat'] },
    same: { models: ['chat'] },
    more: [{ models: ['chat', 'embed'] }, { models: ['embed'] }, { models: null }],
  },
  {
    name: 'expiresAt',
    param: 'expires_at',
    set: { expiresAt: inDays(2).toISOString() },
    less: { expires_at: inDays(1).toISOString() },
    same: { expires_at: inDays(2).toISOString() },
    more: [{ expires_at: inDays(3).toISOString() }, { expires_at: null }],
  },
  {
    name: 'spendLimit',
    param: 'limit',
    set: { spendLimit: { amountNano: '500', period: 'month' } },
    less: { limit: 4e-7 },
    same: { limit: 5e-7, limit_reset: 'monthly' },
    more: [{ limit: 5.01e-7 }, { limit: null }, { limit_reset: 'daily' }, { limit_reset: null }],
  },
  {
    name: 'requestsPerMinute',
    param: 'requests_per_minute',
    set: { requestsPerMinute: 10 },
    less: { requests_per_minute: 9 },
    same: { requests_per_minute: 10 },
    more: [{ requests_per_minute: 11 }, { requests_per_minute: null }],
  },
  {
    name: 'tokensPerMinute',
    param: 'tokens_per_minute',
    set: { tokensPerMinute: 1_000 },
    less: { tokens_per_minute: 999 },
    same: { tokens_per_minute: 1_000 },
    more: [{ tokens_per_minute: 1_001 }, { tokens_per_minute: null }],
  },
] as const satisfies readonly {
  name: string
  param: string
  set: object
  less: object
  same: object
  more: readonly object[]
}[]

describe.each(LIMITS)(
  'a limit of $name that an operator has set',
  ({ name, param, set, less, same, more }) => {
    test('is narrowed by the account, and brought back to what the operator set, and no further', async () => {
      await limit(set)
      await change(less)
      await change(same)
      await change({ name: 'renamed' })
      const before = await operator.call(ADMIN.readKey, { key })
      for (const settings of more) {
        await expect(change(settings)).rejects.toMatchObject(refused('key_conflict', param))
      }
      expect(await operator.call(ADMIN.readKey, { key })).toEqual(before)
      expect(before).toMatchObject({ ...set, setByOperator: [name] })
    })

    test('is the account’s own again once the operator has removed it', async () => {
      await limit(set)
      await limit({ [name]: null })
      expect((await operator.call(ADMIN.readKey, { key })).setByOperator).toEqual([])
      for (const settings of [more[0], less]) await change(settings)
    })

    test('that was given with the key itself is the same', async () => {
      const made = await operator.call(ADMIN.createKey, { account: managed.account.accountId, ...set })
      const [wider = {}] = more
      await expect(managed.change(made.id, wider)).rejects.toMatchObject(refused('key_conflict', param))
    })
  },
)

test('a limit that the account set itself, it may enqueue', async () => {
  const { data } = await create({ requests_per_minute: 5, models: ['chat'] })
  const changed = await managed.change(data.id, { requests_per_minute: null, models: null })
  expect(changed).toMatchObject({ requests_per_minute: null, models: null })
})

describe('a key that an operator has disabled', () => {
  test('is enabled by operators alone', async () => {
    await operator.call(ADMIN.disableKey, { key })
    await expect(change({ disabled: false })).rejects.toMatchObject(refused('key_conflict'))
    await expect(change({ disabled: false, name: 'mine' })).rejects.toMatchObject(refused('key_conflict'))
    expect(await operator.call(ADMIN.readKey, { key })).toMatchObject({ status: 'disabled', name: null })
    await operator.call(ADMIN.enableKey, { key })
    await change({ disabled: true })
    await change({ disabled: false })
  })

  test('is the operator’s also where the account had disabled it before', async () => {
    await change({ disabled: true })
    await operator.call(ADMIN.disableKey, { key })
    await expect(change({ disabled: false })).rejects.toMatchObject(refused('key_conflict'))
  })

  test('is not replaced by a new one of the account, also once the account has revoked it', async () => {
    await operator.call(ADMIN.disableKey, { key })
    await expect(create({})).rejects.toMatchObject(refused('key_conflict'))
    await managed.revoke(key)
    await expect(create({})).rejects.toMatchObject(refused('key_conflict'))
    await operator.call(ADMIN.revokeKey, { key })
    await create()
  })
})

describe('a new key of the account', () => {
  test.each([
    { spendLimit: { amountNano: '500', period: 'total' } },
    { requestsPerMinute: 10 },
    { tokensPerMinute: 1_000 },
  ] as const)('is not made beside one with the operator’s %j, which would be counted anew', async (set) => {
    await limit(set)
    await expect(create({})).rejects.toMatchObject(refused('key_conflict'))
    await expect(create({ requests_per_minute: 1 })).rejects.toMatchObject(refused('key_conflict'))
    await expect(rotate(key, 0)).rejects.toMatchObject(refused('key_conflict'))
    const other = await managed.database.createAccount(0n)
    const { id } = await managed.createManager(other.accountId)
    expect(await managed.actsOf(id).create()).toMatchObject({ replayed: false })
    const [name = ''] = Object.keys(set)
    await limit({ [name]: null })
    await create()
  })

  test('has the strictest models and expiry that operators have set on the others, for good', async () => {
    await limit({ models: ['chat', 'embed'], expiresAt: inDays(3).toISOString() })
    await operator.call(ADMIN.createKey, {
      account: managed.account.accountId,
      models: ['chat'],
      expiresAt: inDays(2).toISOString(),
    })
    await expect(create({ models: ['embed'] })).rejects.toMatchObject(refused('key_conflict', 'models'))
    const expiry = inDays(2).toISOString()
    const { data: made } = await create({ name: 'a' })
    expect(made).toMatchObject({ models: ['chat'], expires_at: expiry })
    await expect(managed.change(made.id, { models: null })).rejects.toMatchObject(
      refused('key_conflict', 'models'),
    )
    const rotated = await rotate(made.id, 0)
    expect(rotated.data).toMatchObject({ models: ['chat'], expires_at: expiry })
    await expect(managed.change(rotated.data.id, { expires_at: null })).rejects.toMatchObject(
      refused('key_conflict', 'expires_at'),
    )
    managed.database.clock.nowMs = inDays(2).getTime()
    await expect(create({})).rejects.toMatchObject(refused('key_conflict'))
  })

  test('is not made where operators have limited others to models of which none is common', async () => {
    await limit({ models: ['chat'] })
    await operator.call(ADMIN.createKey, { account: managed.account.accountId, models: ['embed'] })
    await expect(create({})).rejects.toMatchObject(refused('key_conflict'))
  })
})

test('a key that an operator has rotated stays ended, and the limits are those of its successor', async () => {
  await limit({ requestsPerMinute: 10 })
  const successor = await operator.call(ADMIN.rotateKey, { key, overlapSeconds: 60 })
  expect(successor.setByOperator).toEqual(['requestsPerMinute'])
  await expect(change({ expires_at: null })).rejects.toMatchObject(refused('key_conflict', 'expires_at'))
  await expect(change({ requests_per_minute: null })).rejects.toMatchObject(
    refused('key_conflict', 'requests_per_minute'),
  )
  await operator.call(ADMIN.changeKey, { key: successor.id, requestsPerMinute: null })
  await create()
})

test('the migration takes the limits of keys that no management key has made or changed for the operators’', async () => {
  const { accountId } = managed.account
  const { pool } = managed.database
  await limit({
    models: ['chat'],
    expiresAt: inDays(2).toISOString(),
    spendLimit: { amountNano: '500', period: 'week' },
    requestsPerMinute: 10,
    tokensPerMinute: 1_000,
  })
  const plain = await operator.call(ADMIN.createKey, { account: accountId })
  await operator.call(ADMIN.disableKey, { key: plain.id })
  const other = await managed.database.createAccount(0n)
  const { id: managementKeyId } = await managed.createManager(other.accountId)
  const acts = managed.actsOf(managementKeyId)
  const own = await acts.create({ requests_per_minute: 5 })
  await acts.rotate(own.data.id, 60)
  const read = async () => {
    const { rows } = await pool.query<{ operator_limits: object }>(
      'select operator_limits from api_keys order by created_at, id',
    )
    return rows.map((row) => row.operator_limits)
  }
  const written = await read()
  expect(written.filter((set) => Object.keys(set).length > 0)).toHaveLength(2)
  await pool.query("update api_keys set operator_limits = '{}'")
  const file = readFileSync('apps/billing/sql/tables/0015-operator-limits.sql', 'utf8')
  await pool.query(file.slice(file.indexOf('update api_keys')))
  expect(await read()).toEqual(written)
})
