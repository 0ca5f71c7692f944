import { expect, test } from 'vitest'
import { BillingConfig } from '#apps/billing/config.ts'
import { loadConfig } from '#libs/config/load-config.ts'

const REQUIRED = {
  DATABASE_URL: 'postgres://127.0.0.1/billing',
  QUEUE_REDIS_URL: 'redis://127.0.0.1:6379',
  ADMIN_TOKEN: 'a-token-of-the-tests',
  RECEIPT_SECRETS: 'a-receipt-secret-of-32-characters',
  CATALOG_FILE: 'catalog.json',
}

test.each<[Record<string, string>, string]>([
  [{ GRPC_TLS_CERT_FILE: 'c' }, 'GRPC_TLS_KEY_FILE is not set: GRPC_TLS_CERT_FILE needs it'],
  [{ GRPC_TLS_KEY_FILE: 'k' }, 'GRPC_TLS_CERT_FILE is not set: GRPC_TLS_KEY_FILE needs it'],
  [{ GRPC_TLS_CLIENT_CA_FILE: 'a' }, 'GRPC_TLS_CERT_FILE is not set: GRPC_TLS_CLIENT_CA_FILE needs it'],
])('%o is half of what it takes', (fields, problem) => {
  expect(() => loadConfig(BillingConfig, { ...REQUIRED, ...fields })).toThrow(problem)
})

test.each<[Record<string, string>, string]>([
  [
    { DATABASE_DIRECT_URL: 'postgres://127.0.0.1/billing' },
    'DATABASE_DIRECT_URL is set: it is for DATABASE_POOLER=transaction only',
  ],
  [
    { DATABASE_POOLER: 'transaction' },
    'DATABASE_OWNER_URL is not set: migrations need a direct connection, and DATABASE_URL leads to a pooler',
  ],
  [{ DATABASE_POOLER: 'session' }, 'DATABASE_POOLER is "session": '],
  [{ MIGRATE: 'later' }, 'MIGRATE is "later": expected at-start, only or never'],
  [{ ADMIN_TOKEN: '' }, 'ADMIN_TOKEN is not set'],
  [{ ADMIN_TOKEN: 'short' }, 'ADMIN_TOKEN is set: expected at least 16 characters'],
  [{ RECEIPT_SECRETS: '' }, 'RECEIPT_SECRETS is not set'],
  [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL is set: expected a postgres:// URL'],
])('%o is refused', (fields, problem) => {
  expect(() => loadConfig(BillingConfig, { ...REQUIRED, ...fields })).toThrow(problem)
})

test('behind a pooler the owner migrates by a direct connection, or billing does not migrate', () => {
  const pooled = { ...REQUIRED, DATABASE_POOLER: 'transaction' }
  const owner = { DATABASE_OWNER_URL: 'postgres://127.0.0.1/billing' }
  expect(loadConfig(BillingConfig, { ...pooled, ...owner })).toMatchObject(owner)
  expect(loadConfig(BillingConfig, { ...pooled, MIGRATE: 'never' })).toMatchObject({ MIGRATE: 'never' })
})

test('the catalog file may be absent', () => {
  expect(loadConfig(BillingConfig, { ...REQUIRED, CATALOG_FILE: '' })).not.toHaveProperty('CATALOG_FILE')
})

test('a certificate and its key may stand alone, and all three together', () => {
  const pair = { GRPC_TLS_CERT_FILE: 'c', GRPC_TLS_KEY_FILE: 'k' }
  const ca = { GRPC_TLS_CLIENT_CA_FILE: 'a' }
  expect(loadConfig(BillingConfig, { ...REQUIRED, ...pair })).toMatchObject(pair)
  expect(loadConfig(BillingConfig, { ...REQUIRED, ...pair, ...ca })).toMatchObject({ ...pair, ...ca })
})

test.each([
  ['ADMIN_TOKEN', 'hunter2-short'],
  ['RECEIPT_SECRETS', 'hunter2-a-receipt-secret-of-32-characters,hunter2-short'],
  ['DATABASE_URL', 'mysql://user:hunter2@127.0.0.1/x'],
  ['DATABASE_OWNER_URL', 'mysql://user:hunter2@127.0.0.1/x'],
  ['QUEUE_REDIS_URL', 'http://user:hunter2@127.0.0.1'],
])('a wrong %s is reported without its value', (name, value) => {
  let message = ''
  try {
    loadConfig(BillingConfig, { ...REQUIRED, [name]: value })
  } catch (error) {
    message = String(error)
  }
  expect(message).toMatch(new RegExp(`${name}(\\.1)? is set: expected`))
  expect(message).not.toContain('hunter2')
})
