import { expect, test } from 'vitest'
import { GatewayConfig, toHttpLimits } from '#apps/gateway/config.ts'
import { loadConfig } from '#libs/config/load-config.ts'
import { LARGEST_BODY_BYTES } from '#libs/contracts/largest-body-bytes.ts'

const REQUIRED = {
  QUEUE_REDIS_URL: 'redis://127.0.0.1:6379',
  BUS_REDIS_URL: 'redis://127.0.0.1:6379',
  BILLING_ADDRESS: '127.0.0.1:50090',
}

test.each<[Record<string, string>, string]>([
  [{ BILLING_TLS_CERT_FILE: 'c' }, 'BILLING_TLS_KEY_FILE is not set: BILLING_TLS_CERT_FILE needs it'],
  [{ BILLING_TLS_CERT_FILE: 'c' }, 'BILLING_TLS_CA_FILE is not set: BILLING_TLS_CERT_FILE needs it'],
  [{ BILLING_TLS_KEY_FILE: 'k' }, 'BILLING_TLS_CERT_FILE is not set: BILLING_TLS_KEY_FILE needs it'],
])('%o alone is refused', (fields, problem) => {
  expect(() => loadConfig(GatewayConfig, { ...REQUIRED, ...fields })).toThrow(problem)
})

test('the authority may be set alone, or all three together', () => {
  const ca = { BILLING_TLS_CA_FILE: 'a' }
  const pair = { BILLING_TLS_CERT_FILE: 'c', BILLING_TLS_KEY_FILE: 'k' }
  expect(loadConfig(GatewayConfig, { ...REQUIRED, ...ca })).toMatchObject(ca)
  expect(loadConfig(GatewayConfig, { ...REQUIRED, ...ca, ...pair })).toMatchObject({ ...ca, ...pair })
})

test('the limits of the public interface have defaults', () => {
  expect(toHttpLimits(loadConfig(GatewayConfig, REQUIRED))).toEqual({
    bodyBytes: 33_554_432,
    countBytesPerS: 1_000_000,
    uploadBytesPerS: 1_024,
    largeBodyBytes: 65_536,
    smallBodyValues: 500,
    startWaitS: 300,
    refusedBodiesPerS: 10,
    connections: 16_384,
    trustedProxies: [],
    allBodiesBytes: 134_217_728,
    uploadMs: 60_000,
    keepAliveTimeoutMs: 72_000,
    connectionIdleMs: 660_000,
    headersAfterS: 10,
    keepAliveS: 10,
    queuedBytes: 1_048_576,
    lastReadS: 30,
  })
})

test.each([
  ['*', ['*']],
  ['https://chat.example.com', ['https://chat.example.com']],
  [
    'http://localhost:3000, https://a.example,tauri://localhost',
    ['http://localhost:3000', 'https://a.example', 'tauri://localhost'],
  ],
])('pages of the origins %s may call', (text, origins) => {
  expect(loadConfig(GatewayConfig, { ...REQUIRED, CORS_ORIGINS: text }).CORS_ORIGINS).toEqual(origins)
})

test.each([
  'chat.example.com',
  'https://chat.example.com/',
  'https://chat.example.com/page',
  'https://chat.example.com:443',
  'https://*.example.com',
  'https://Chat.example.com',
  '*,https://chat.example.com',
  'https://chat.example.com,',
])('an origin that no browser sends is refused: %s', (text) => {
  expect(() => loadConfig(GatewayConfig, { ...REQUIRED, CORS_ORIGINS: text })).toThrow('CORS_ORIGINS')
})

test('no page may call unless an operator names its origin', () => {
  expect(loadConfig(GatewayConfig, REQUIRED).CORS_ORIGINS).toEqual([])
})

test.each(['billing:50090', '[::1]:50090', '10.0.0.1:1,10.0.0.2:2', '[::1]:1,[::2]:2'])(
  'billing may be at %s',
  (address) => {
    expect(loadConfig(GatewayConfig, { ...REQUIRED, BILLING_ADDRESS: address })).toMatchObject({
      BILLING_ADDRESS: address,
    })
  },
)

test.each(['::1:50090', 'a:1,b:2', '10.0.0.1:1,[::1]:1', '10.0.0.1:1,'])(
  'billing cannot be at %s',
  (address) => {
    expect(() => loadConfig(GatewayConfig, { ...REQUIRED, BILLING_ADDRESS: address })).toThrow(
      'expected host:port, [address]:port for IPv6, or several IP addresses of one family',
    )
  },
)

test('each limit that an operator may change has its variable', () => {
  const environment = {
    MAX_BODY_BYTES: '2000',
    BODY_MEMORY_BYTES: '4000',
    UPLOAD_DEADLINE_MS: '4000',
    GENERATION_DEADLINE_MS: '5000',
    STREAM_HEADERS_AFTER_S: '6',
    STREAM_KEEP_ALIVE_S: '7',
    STREAM_UNREAD_BYTES: '80000',
    KEEP_ALIVE_TIMEOUT_S: '620',
  }
  expect(toHttpLimits(loadConfig(GatewayConfig, { ...REQUIRED, ...environment }))).toMatchObject({
    bodyBytes: 2_000,
    allBodiesBytes: 4_000,
    uploadMs: 4_000,
    connectionIdleMs: 9_000,
    headersAfterS: 6,
    keepAliveS: 7,
    queuedBytes: 80_000,
    keepAliveTimeoutMs: 620_000,
  })
})

test('one account always has memory for one body of an allowed size', () => {
  const environment = { ...REQUIRED, MAX_BODY_BYTES: '2000', BODY_MEMORY_BYTES: '3999' }
  expect(() => loadConfig(GatewayConfig, environment)).toThrow(
    'BODY_MEMORY_BYTES is "3999": expected at least twice MAX_BODY_BYTES: large bodies get half of it',
  )
})

test('a body larger than workers unpack cannot be allowed', () => {
  const environment = { ...REQUIRED, MAX_BODY_BYTES: String(LARGEST_BODY_BYTES + 1) }
  expect(() => loadConfig(GatewayConfig, environment)).toThrow('MAX_BODY_BYTES is "33554433"')
})
