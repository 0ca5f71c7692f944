import { expect, test } from 'vitest'
import { formatHostPort, hostOfUrl, parseHostPort, readHostPort } from '#libs/config/host-port.ts'

test.each([
  ['billing:50090', 'billing', 50_090],
  ['billing.prod.svc:0', 'billing.prod.svc', 0],
  ['my_host:65535', 'my_host', 65_535],
  ['127.0.0.1:1', '127.0.0.1', 1],
  ['[::1]:50090', '::1', 50_090],
  ['[::]:1', '::', 1],
  ['[::ffff:10.0.0.1]:2', '::ffff:10.0.0.1', 2],
  ['[fe80::1%eth0]:3', 'fe80::1%eth0', 3],
])('%s is an address, and is written as it was', (text, host, port) => {
  expect(parseHostPort(text)).toEqual({ host, port })
  expect(formatHostPort(readHostPort(text))).toBe(text)
})

test.each([
  '',
  'billing',
  'billing:',
  ':50090',
  '::1:50090',
  '::1',
  '[::1]',
  '[::1]:',
  '[billing]:1',
  '[127.0.0.1]:1',
  'billing:65536',
  'billing:-1',
  'billing:1 ',
  'http://billing:1',
  'user@billing:1',
  'a:1,b:2',
])('%j is no address', (text) => {
  expect(parseHostPort(text)).toBeNull()
  expect(() => readHostPort(text)).toThrow('expected host:port')
})

test('sockets take the host of a URL without brackets', () => {
  expect(hostOfUrl(new URL('redis://[::1]:1'))).toBe('::1')
  expect(hostOfUrl(new URL('redis://queue_master'))).toBe('queue_master')
})
