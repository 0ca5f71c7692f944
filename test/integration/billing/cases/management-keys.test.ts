import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hashApiKey, isWellFormedManagementKey } from '#libs/api-key/api-key.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { refused } from '../support/ask-as.ts'
import { reserveCall, settlement, START_MS } from '../support/billing-database.ts'
import { openManagedAccount, type ManagedAccount } from '../support/managed-account.ts'
import { refusal } from '../support/operator.ts'

let managed: ManagedAccount
let database: ManagedAccount['database']
let billing: ManagedAccount['billing']
let account: ManagedAccount['account']
let manager: ManagedAccount['manager']
let createManager: ManagedAccount['createManager']
let lookUp: ManagedAccount['lookUp']
let auditOf: ManagedAccount['auditOf']

beforeEach(async () => {
  managed = await openManagedAccount()
  ;({ database, billing, account, manager, createManager, lookUp, auditOf } = managed)
})
afterEach(() => managed.close())

describe('an operator', () => {
  test('makes a management key, whose secret is shown once and stored as its hash only', async () => {
    expect(isWellFormedManagementKey(manager.secret)).toBe(true)
    const { rows } = await database.pool.query<{ everything: string }>(
      'select m::text as everything from management_keys m union all select a::text from admin_audit a',
    )
    const everything = rows.map((row) => row.everything).join('\n')
    expect(everything.split(hashApiKey(manager.secret).toString('hex'))).toHaveLength(2)
    expect(everything).not.toContain(manager.secret)
    expect(everything).not.toContain(manager.secret.slice(-20))
    expect(await auditOf(manager.id)).toMatchObject([
      { actor: 'bootstrap', action: 'createManagementKey', details: { account: account.accountId } },
    ])
  })

  test('lists those of an account and revokes one, which does nothing more from then on', async () => {
    const other = await createManager((await database.createAccount(0n)).accountId)
    const list = async (query: object) =>
      (await database.operator.call(ADMIN.listManagementKeys, { ...query })).data.map(({ id }) => id)
    expect(await list({ account: account.accountId })).toEqual([manager.id])
    expect((await list({})).toSorted()).toEqual([manager.id, other.id].toSorted())

    expect(await lookUp(manager.secret)).toMatchObject({ keyId: manager.id, accountId: account.accountId })
    const revoked = await database.operator.call(ADMIN.revokeManagementKey, { managementKey: manager.id })
    expect(revoked).toMatchObject({ status: 'revoked', lastUsedAt: '2030-01-01T00:00:00.000Z' })
    expect(await lookUp(manager.secret)).toBeNull()
    await expectNotValid(manager.id)
    await database.operator.call(ADMIN.revokeManagementKey, { managementKey: manager.id })
    expect((await auditOf(manager.id)).map(({ action }) => action)).toEqual([
      'revokeManagementKey',
      'createManagementKey',
    ])
    const unknown = await database.operator.ask('POST', `/management-keys/${randomUUID()}/revoke`)
    expect(unknown).toEqual({ status: 404, body: refusal('not_found') })
  })

  test('gives an account ten of them, and none that has expired', async () => {
    const create = async (body: object) =>
      await database.operator.ask('POST', `/accounts/${account.accountId}/management-keys`, body)
    const past = await create({ name: 'late', expiresAt: '2029-12-31T00:00:00Z' })
    expect(past).toEqual({ status: 400, body: refusal('invalid_request', 'expiresAt') })
    const more = await Promise.all(Array.from({ length: 12 }, async (_, n) => await create({ name: `${n}` })))
    expect(more.filter(({ status }) => status === 201)).toHaveLength(9)
    expect(more.filter(({ status }) => status === 409)).toHaveLength(3)
  })
})

test('an expired management key and that of a closed account do nothing', async () => {
  const { accountId } = account
  const short = await createManager(accountId, { expiresAt: '2030-01-01T00:01:00Z' })
  expect(await lookUp(short.secret)).toMatchObject({ expiresAtMs: START_MS + 60_000 })
  database.clock.nowMs = START_MS + 60_000
  expect(await lookUp(short.secret)).toBeNull()
  await expectNotValid(short.id)

  expect(await lookUp(manager.secret)).not.toBeNull()
  await database.operator.call(ADMIN.closeAccount, { account: accountId, reason: 'test' })
  expect(await lookUp(manager.secret)).toBeNull()
  await expectNotValid(manager.id)
})

/** Expects that every call with the management key is refused and changes nothing. */
async function expectNotValid(managementKeyId: string) {
  const { ask, create, read, change, revoke, rotate } = managed.actsOf(managementKeyId)
  const day = new Date(START_MS).toISOString().slice(0, 10)
  const calls = [
    () => create(),
    () => read(account.keyId),
    () => change(account.keyId, { name: 'mine' }),
    () => revoke(account.keyId),
    () => rotate(account.keyId, 0),
    () => ask('listKeys'),
    () => ask('readKey'),
    () => ask('readCredits'),
    () => ask('readGeneration', { query: { id: uuidV7(START_MS) } }),
    () => ask('listGenerations'),
    () => ask('readActivity', { query: { from: day, to: day } }),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject(refused('invalid_key'))
  const { data } = await database.operator.call(ADMIN.listKeys, { account: account.accountId })
  expect(data).toMatchObject([{ id: account.keyId, name: null, status: 'active', expiresAt: null }])
}

describe('spending', () => {
  test('a management key cannot be found for it, by its hash or by its id', async () => {
    expect(await billing.lookUpKey(hashApiKey(manager.secret))).toBeNull()
    expect(await billing.reserve(reserveCall(manager.id))).toEqual({ status: 'key-invalid' })
    expect(await database.balance(account.accountId)).toMatchObject({ held: 0n })
    expect(await lookUp(account.secret)).toBeNull()
    const { rows } = await database.pool.query(
      `select status from reserve(ids => array[$1::uuid], key_ids => array[$2::uuid], models => array['chat'],
         inputs => array[1], outputs => array[1], deadlines => array[$3::timestamptz], grace => '1 minute', at => $3,
         known => true)`,
      [randomUUID(), manager.id, new Date(START_MS)],
    )
    expect(rows).toEqual([{ status: 'key-invalid' }])
  })

  test('a key that it made can spend, within the limits that it was given', async () => {
    const { data, key: secret } = await managed.create({ limit: 8e-7, limit_reset: 'daily' })
    const { id } = data
    expect(await billing.lookUpKey(hashApiKey(secret ?? ''))).toMatchObject({ keyId: id })
    const call = reserveCall(id)
    expect(await billing.reserve(call)).toMatchObject({ status: 'granted' })
    expect(await billing.reserve(reserveCall(id))).toMatchObject({ status: 'key-limit' })
    await database.money.settle([settlement(call.reservationId)])
    expect(await managed.read(id)).toMatchObject({
      limit_reset: 'daily',
      nano: {
        limit: '800',
        limit_remaining: '100',
        usage: '700',
        usage_daily: '700',
        usage_weekly: '700',
        usage_monthly: '700',
      },
      last_used_at: new Date(START_MS).toISOString(),
    })
    await managed.revoke(id)
    expect(await billing.lookUpKey(hashApiKey(secret ?? ''))).toBeNull()
    expect(await billing.reserve(reserveCall(id))).toEqual({ status: 'key-invalid' })
  })
})
