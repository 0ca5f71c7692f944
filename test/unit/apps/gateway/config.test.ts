import { expect, test } from 'vitest'
import { GatewayConfig } from '#apps/gateway/config.ts'
import { loadConfig } from '#libs/config/load-config.ts'

const REQUIRED = {
  QUEUE_REDIS_URL: 'redis://127.0.0.1:6379',
  BUS_REDIS_URL: 'redis://127.0.0.1:6379',
  BILLING_ADDRESS: '127.0.0.1:50090',
}

test.each<[Record<string, string>, string]>([
  [{ BILLING_TLS_CERT_FILE: 'c' }, 'BILLING_TLS_KEY_FILE is not set: BILLING_TLS_CERT_FILE needs it'],
  [{ BILLING_TLS_CERT_FILE: 'c' }, 'BILLING_TLS_CA_FILE is not set: BILLING_TLS_CERT_FILE needs it'],
  [{ BILLING_TLS_KEY_FILE: 'k' }, 'BILLING_TLS_CERT_FILE is not set: BILLING_TLS_KEY_FILE needs it'],
])('%o is half of what it takes', (fields, problem) => {
  expect(() => loadConfig(GatewayConfig, { ...REQUIRED, ...fields })).toThrow(problem)
})

test('an authority may stand alone, and all three together', () => {
  const ca = { BILLING_TLS_CA_FILE: 'a' }
  const pair = { BILLING_TLS_CERT_FILE: 'c', BILLING_TLS_KEY_FILE: 'k' }
  expect(loadConfig(GatewayConfig, { ...REQUIRED, ...ca })).toMatchObject(ca)
  expect(loadConfig(GatewayConfig, { ...REQUIRED, ...ca, ...pair })).toMatchObject({ ...ca, ...pair })
})
