import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { KeySettings } from '#proto/types/millrace/billing/KeySettings.ts'
import { START_MS } from '../support/billing-database.ts'
import { openManagedAccount, refused, type ManagedAccount } from '../support/managed-account.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const inDays = (days: number) => new Date(START_MS + days * DAY_MS)

let managed: ManagedAccount
let operator: ManagedAccount['database']['operator']
let manage: ManagedAccount['manage']
let done: ManagedAccount['done']
let key: string

beforeEach(async () => {
  managed = await openManagedAccount()
  ;({ manage, done } = managed)
  ;({ operator } = managed.database)
  key = managed.account.keyId
})
afterEach(() => managed.close())

const limit = async (limits: object) => await operator.call(ADMIN.changeKey, { key, ...limits })
const change = async (settings: KeySettings) => await manage({ keyId: key, change: settings })

/** What an operator sets, what the account may do of it, and what not. */
const LIMITS = [
  {
    name: 'models',
    set: { models: ['chat'] },
    less: { models: { ids: ['chat'] } },
    same: { models: { ids: ['chat'] } },
    more: [{ models: { ids: ['chat', 'embed'] } }, { models: { ids: ['embed'] } }, { models: { ids: [] } }],
  },
  {
    name: 'expiresAt',
    set: { expiresAt: inDays(2).toISOString() },
    less: { expiresAtMs: String(inDays(1).getTime()) },
    same: { expiresAtMs: String(inDays(2).getTime()) },
    more: [{ expiresAtMs: String(inDays(3).getTime()) }, { expiresAtMs: '0' }],
  },
  {
    name: 'spendLimit',
    set: { spendLimit: { amountNano: '500', period: 'month' } },
    less: { limitNano: '400' },
    same: { limitNano: '500', limitPeriod: 'month' },
    more: [{ limitNano: '501' }, { limitNano: '0' }, { limitPeriod: 'day' }, { limitPeriod: 'total' }],
  },
  {
    name: 'requestsPerMinute',
    set: { requestsPerMinute: 10 },
    less: { requestsPerMinute: 9 },
    same: { requestsPerMinute: 10 },
    more: [{ requestsPerMinute: 11 }, { requestsPerMinute: 0 }],
  },
  {
    name: 'tokensPerMinute',
    set: { tokensPerMinute: 1_000 },
    less: { tokensPerMinute: '999' },
    same: { tokensPerMinute: '1000' },
    more: [{ tokensPerMinute: '1001' }, { tokensPerMinute: '0' }],
  },
] as const satisfies readonly {
  name: string
  set: object
  less: KeySettings
  same: KeySettings
  more: readonly KeySettings[]
}[]

describe.each(LIMITS)('a limit of $name that an operator has set', ({ name, set, less, same, more }) => {
  test('is narrowed by the account, and brought back to what the operator set, and no further', async () => {
    await limit(set)
    await done({ keyId: key, change: less })
    await done({ keyId: key, change: same })
    await done({ keyId: key, change: { name: 'renamed' } })
    const before = await operator.call(ADMIN.readKey, { key })
    for (const settings of more) expect(await change(settings)).toMatchObject(refused('CONFLICT', name))
    expect(await operator.call(ADMIN.readKey, { key })).toEqual(before)
    expect(before).toMatchObject({ ...set, setByOperator: [name] })
  })

  test('is the account’s own again once the operator has removed it', async () => {
    await limit(set)
    await limit({ [name]: null })
    expect((await operator.call(ADMIN.readKey, { key })).setByOperator).toEqual([])
    for (const settings of [more[0], less]) await done({ keyId: key, change: settings })
  })

  test('that was given with the key itself is the same', async () => {
    const made = await operator.call(ADMIN.createKey, { account: managed.account.accountId, ...set })
    const [wider = {}] = more
    expect(await manage({ keyId: made.id, change: wider })).toMatchObject(refused('CONFLICT', name))
  })
})

test('a limit that the account set itself, it may lift', async () => {
  const { id } = await done({ create: { requestsPerMinute: 5, models: { ids: ['chat'] } } })
  const { key: changed } = await done({ keyId: id, change: { requestsPerMinute: 0, models: { ids: [] } } })
  expect(changed).toMatchObject({ requestsPerMinute: 0, models: null })
})

describe('a key that an operator has disabled', () => {
  test('is enabled by operators alone', async () => {
    await operator.call(ADMIN.disableKey, { key })
    expect(await change({ disabled: false })).toMatchObject(refused('CONFLICT'))
    expect(await change({ disabled: false, name: 'mine' })).toMatchObject(refused('CONFLICT'))
    expect(await operator.call(ADMIN.readKey, { key })).toMatchObject({ status: 'disabled', name: null })
    await operator.call(ADMIN.enableKey, { key })
    await done({ keyId: key, change: { disabled: true } })
    await done({ keyId: key, change: { disabled: false } })
  })

  test('is the operator’s also where the account had disabled it before', async () => {
    await done({ keyId: key, change: { disabled: true } })
    await operator.call(ADMIN.disableKey, { key })
    expect(await change({ disabled: false })).toMatchObject(refused('CONFLICT'))
  })

  test('is not replaced by a new one of the account, also once the account has revoked it', async () => {
    await operator.call(ADMIN.disableKey, { key })
    expect(await manage({ create: {} })).toMatchObject(refused('CONFLICT'))
    await done({ keyId: key, revoke: {} })
    expect(await manage({ create: {} })).toMatchObject(refused('CONFLICT'))
    await operator.call(ADMIN.revokeKey, { key })
    await done({ create: {} })
  })
})

describe('a new key of the account', () => {
  test.each([
    { spendLimit: { amountNano: '500', period: 'total' } },
    { requestsPerMinute: 10 },
    { tokensPerMinute: 1_000 },
  ] as const)('is not made beside one with the operator’s %j, which would be counted anew', async (set) => {
    await limit(set)
    expect(await manage({ create: {} })).toMatchObject(refused('CONFLICT'))
    expect(await manage({ create: { requestsPerMinute: 1 } })).toMatchObject(refused('CONFLICT'))
    expect(await manage({ keyId: key, rotate: { overlapSeconds: 0 } })).toMatchObject(refused('CONFLICT'))
    const other = await managed.database.createAccount(0n)
    const { id } = await managed.createManager(other.accountId)
    expect(await managed.billing.manageKey({ managementKeyId: id, create: {} })).toMatchObject({
      refusal: null,
    })
    const [name = ''] = Object.keys(set)
    await limit({ [name]: null })
    await done({ create: {} })
  })

  test('has the strictest models and expiry that operators have set on the others, for good', async () => {
    await limit({ models: ['chat', 'embed'], expiresAt: inDays(3).toISOString() })
    await operator.call(ADMIN.createKey, {
      account: managed.account.accountId,
      models: ['chat'],
      expiresAt: inDays(2).toISOString(),
    })
    expect(await manage({ create: { models: { ids: ['embed'] } } })).toMatchObject(
      refused('CONFLICT', 'models'),
    )
    const expiry = String(inDays(2).getTime())
    const { id, key: made } = await done({ create: { name: 'a' } })
    expect(made).toMatchObject({ models: { ids: ['chat'] }, expiresAtMs: expiry })
    expect(await manage({ keyId: id, change: { models: { ids: [] } } })).toMatchObject(
      refused('CONFLICT', 'models'),
    )
    const rotated = await done({ keyId: id, rotate: { overlapSeconds: 0 } })
    expect(rotated.key).toMatchObject({ models: { ids: ['chat'] }, expiresAtMs: expiry })
    expect(await manage({ keyId: rotated.id, change: { expiresAtMs: '0' } })).toMatchObject(
      refused('CONFLICT', 'expiresAt'),
    )
    managed.database.clock.nowMs = inDays(2).getTime()
    expect(await manage({ create: {} })).toMatchObject(refused('CONFLICT'))
  })

  test('is not made where operators have limited others to models of which none is common', async () => {
    await limit({ models: ['chat'] })
    await operator.call(ADMIN.createKey, { account: managed.account.accountId, models: ['embed'] })
    expect(await manage({ create: {} })).toMatchObject(refused('CONFLICT'))
  })
})

test('a key that an operator has rotated stays ended, and the limits are those of its successor', async () => {
  await limit({ requestsPerMinute: 10 })
  const successor = await operator.call(ADMIN.rotateKey, { key, overlapSeconds: 60 })
  expect(successor.setByOperator).toEqual(['requestsPerMinute'])
  expect(await change({ expiresAtMs: '0' })).toMatchObject(refused('CONFLICT', 'expiresAt'))
  expect(await change({ requestsPerMinute: 0 })).toMatchObject(refused('CONFLICT', 'requestsPerMinute'))
  await operator.call(ADMIN.changeKey, { key: successor.id, requestsPerMinute: null })
  await done({ create: {} })
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
  const own = await managed.billing.manageKey({ managementKeyId, create: { requestsPerMinute: 5 } })
  await managed.billing.manageKey({
    managementKeyId,
    keyId: own.key?.keyId ?? '',
    rotate: { overlapSeconds: 60 },
  })
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
