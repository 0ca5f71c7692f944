import { describe, expect, test } from 'vitest'
import { AdminError } from '#apps/billing/resources/admin-error.ts'
import { toLimits, toRefusal } from '#apps/billing/accounts/key-limits.ts'
import { Key } from '#libs/admin-contract/resources/keys.ts'

const PLAIN: Key = {
  id: '8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77',
  accountId: '8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e78',
  name: null,
  prefix: 'mr_live_mcHg',
  last4: 'cCRh',
  status: 'active',
  expiresAt: null,
  models: null,
  spendLimit: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  spending: null,
  lastUsedAt: null,
  rotatedFrom: null,
  setByOperator: [],
  createdAt: '2030-01-01T00:00:00.000Z',
  revokedAt: null,
}
const LIMITED: Key = { ...PLAIN, spendLimit: { amountNano: '900', period: 'week' } }

test('null removes a limit, and what is absent stays', () => {
  expect(Key.parse(LIMITED)).toEqual(LIMITED)
  expect(toLimits({}, LIMITED)).toEqual({})
  const wanted = {
    name: null,
    models: null,
    expires_at: null,
    requests_per_minute: null,
    tokens_per_minute: 5,
  }
  expect(toLimits(wanted, LIMITED)).toEqual({
    name: null,
    models: null,
    expiresAt: null,
    requestsPerMinute: null,
    tokensPerMinute: 5,
  })
  expect(toLimits({ expires_at: '1970-01-01T00:00:00Z' }, null)).toEqual({ expiresAt: new Date(0) })
})

describe('a spend limit', () => {
  test.each([
    [{ limit: 25.000000001 }, { amountNano: 25_000_000_001n, period: 'week' }],
    [
      { limit: 8e-7, limit_reset: 'daily' },
      { amountNano: 800n, period: 'day' },
    ],
    [
      { limit: 1, limit_reset: null },
      { amountNano: 1_000_000_000n, period: 'total' },
    ],
    [{ limit_reset: 'monthly' }, { amountNano: 900n, period: 'month' }],
    [{ limit_reset: null }, { amountNano: 900n, period: 'total' }],
    [{ limit: null }, null],
    [{ limit: null, limit_reset: null }, null],
  ] as const)('of a key with one that is changed by %j', (wanted, spendLimit) => {
    expect(toLimits(wanted, LIMITED)).toEqual({ spendLimit })
  })

  test('of a key without one is for its whole life unless its reset is given', () => {
    expect(toLimits({ limit: 1 }, PLAIN)).toEqual({
      spendLimit: { amountNano: 1_000_000_000n, period: 'total' },
    })
  })

  test.each([
    [{ limit_reset: 'daily' }, PLAIN],
    [{ limit_reset: null }, null],
    [{ limit: null, limit_reset: 'daily' }, LIMITED],
  ] as const)('is missing where only its reset is given: %j', (wanted, present) => {
    expect(() => toLimits(wanted, present)).toThrow(AdminError)
  })
})

describe('a refusal', () => {
  test.each([
    [
      new AdminError('invalid_request', "'spendLimit': expected a limit", 'spendLimit'),
      { code: 'invalid_request', message: "'limit': expected a limit.", param: 'limit' },
    ],
    [
      new AdminError('conflict', "'models': an operator has set it", 'models'),
      { code: 'key_conflict', message: "'models': an operator has set it.", param: 'models' },
    ],
    [
      new AdminError('not_found', 'There is no key 5.'),
      { code: 'key_not_found', message: 'There is no key 5.', param: undefined },
    ],
  ])('of billing has the words of the public interface: %s', (error, expected) => {
    expect(toRefusal(error)).toMatchObject(expected)
  })

  test('is none where the database did not answer', () => {
    expect(toRefusal(new AdminError('unavailable', 'later'))).toBeUndefined()
  })
})
