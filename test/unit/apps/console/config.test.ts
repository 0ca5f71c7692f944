import { expect, test } from 'vitest'
import { ConsoleConfig, toOrigin } from '#apps/console/config.ts'
import { loadConfig } from '#libs/config/load-config.ts'

const REQUIRED = {
  QUEUE_REDIS_URL: 'redis://localhost:6379',
  BUS_REDIS_URL: 'redis://localhost:6379',
  BILLING_ADMIN_URL: 'http://localhost:8090/',
}
const load = (environment: Record<string, string> = {}) =>
  loadConfig(ConsoleConfig, { ...REQUIRED, ...environment })

test('without an address of its own it is reached at its port on this machine', () => {
  expect(toOrigin(load()).origin).toBe('http://127.0.0.1:8091')
  expect(toOrigin(load({ PORT: '9000' })).origin).toBe('http://127.0.0.1:9000')
  expect(toOrigin(load({ HOST: '[::1]' })).origin).toBe('http://[::1]:8091')
  expect(toOrigin(load({ CONSOLE_ORIGIN: 'https://console.example/' })).host).toBe('console.example')
})

test.each([
  'http://localhost:8091',
  'http://127.0.0.1:8091',
  'http://[::1]:8091',
  'http://0f3a.localhost:8091',
])('plain http is for this machine: %s', (origin) => {
  expect(toOrigin(load({ CONSOLE_ORIGIN: origin })).origin).toBe(origin)
})

test.each([
  ['plain http of another machine', 'http://console.example'],
  ['a name that only begins like this machine', 'http://localhost.example'],
  ['a name that only ends like this machine', 'http://not-localhost'],
  ['a path', 'https://console.example/console'],
  ['another protocol', 'ftp://console.example'],
])('an address with %s is refused', (_, origin) => {
  expect(() => load({ CONSOLE_ORIGIN: origin })).toThrow('CONSOLE_ORIGIN')
})

test('billing is needed, and a slash at the end of an address is no part of it', () => {
  expect(() => load({ BILLING_ADMIN_URL: '' })).toThrow('BILLING_ADMIN_URL')
  expect(load({ DOCS_URL: 'https://git.example/millrace/' })).toMatchObject({
    BILLING_ADMIN_URL: 'http://localhost:8090',
    DOCS_URL: 'https://git.example/millrace',
  })
})

test('no proxy is trusted unless it is named, by address or range', () => {
  expect(load().TRUSTED_PROXIES).toBeUndefined()
  expect(load({ TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8,192.0.2.7' }).TRUSTED_PROXIES).toEqual([
    '10.0.0.0/8',
    'fd00::/8',
    '192.0.2.7',
  ])
  for (const wrong of ['true', 'proxy.example', '10.0.0.0/33', '10.0.0.1,']) {
    expect(() => load({ TRUSTED_PROXIES: wrong })).toThrow('TRUSTED_PROXIES')
  }
})
