import { expect, test } from 'vitest'
import type { AccountKey } from '#libs/account-contract/resources/keys.ts'
import { toChange, toTexts } from '#libs/page-parts/key-limits.ts'
import { Failure } from '#libs/page-parts/failure.ts'

const nano = { usage: '0', usage_daily: '0', usage_weekly: '0', usage_monthly: '0' }
const KEY: AccountKey = {
  id: '8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77',
  label: 'mr_live_mcHg…cCRh',
  name: 'production',
  status: 'active',
  disabled: false,
  usage: 0,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 0,
  limit: 25.000000001,
  limit_remaining: 25.000000001,
  limit_reset: 'weekly',
  expires_at: '2027-01-31T11:12:13.000Z',
  models: ['a', 'b/c'],
  requests_per_minute: 600,
  tokens_per_minute: null,
  created_at: '2026-11-01T09:00:00.000Z',
  last_used_at: null,
  revoked_at: null,
  rotated_from: null,
  nano: { ...nano, limit: '25000000001', limit_remaining: '25000000001' },
}

test('what nobody changed is not sent, however it is written', () => {
  const before = toTexts(KEY)
  expect(before).toMatchObject({ limit: '25.000000001', limit_reset: 'weekly', expires_at: '2027-01-31' })
  expect(toChange(before, before)).toEqual({})
  expect(toChange({ ...before, tokens_per_minute: '9000' }, before)).toEqual({ tokens_per_minute: 9000 })
  expect(toChange({ ...before, limit_reset: 'never' }, before)).toEqual({ limit_reset: null })
})

test('an empty field removes what it names, and nothing else', () => {
  const before = toTexts(KEY)
  const empty = { name: '', limit: '', requests_per_minute: '', models: '', expires_at: '' }
  expect(toChange({ ...before, ...empty }, before)).toEqual({
    name: null,
    limit: null,
    requests_per_minute: null,
    models: null,
    expires_at: null,
  })
})

test('a new key has what was typed; its limit has a period', () => {
  const before = toTexts()
  expect(toChange(before, before)).toEqual({})
  expect(toChange({ ...before, limit: '12.5', models: 'a, b/c', expires_at: '2027-02-01' }, before)).toEqual({
    limit: 12.5,
    limit_reset: 'monthly',
    models: ['a', 'b/c'],
    expires_at: '2027-02-01T00:00:00Z',
  })
})

test.each([
  ['limit', '1e3'],
  ['limit', '-1'],
  ['limit', '0.0000000001'],
  ['limit', 'NaN'],
  ['requests_per_minute', '1.5'],
  ['tokens_per_minute', 'many'],
] as const)(
  'a %s of %s is refused by name: as a number it would be null, which removes the limit',
  (param, text) => {
    const before = toTexts(KEY)
    const change = () => toChange({ ...before, [param]: text }, before)
    expect(change).toThrow(Failure)
    expect(change).toThrow(expect.objectContaining({ param }))
  },
)
