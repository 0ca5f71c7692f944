import { expect, test } from 'vitest'
import { z } from 'zod'
import { HostPort, HttpUrl, ListenHost, RedisUrl } from '#libs/config/config-fields.ts'
import { loadConfig } from '#libs/config/load-config.ts'

const Config = z.object({
  REDIS_URL: RedisUrl.optional(),
  ADMIN_URL: HttpUrl.optional(),
  LISTEN: HostPort.optional(),
  HOST: ListenHost.optional(),
})

test.each([
  'redis://queue',
  'redis://queue/',
  'rediss://app:p%25w@queue:6379/2',
  'redis://:a+b:c@d!$&()*=~ä@[::1]:6379',
  'redis://:\'"<>\\^`{|}@queue',
])('the URL %s is taken', (url) => {
  expect(loadConfig(Config, { REDIS_URL: url })).toEqual({ REDIS_URL: url })
})

test.each([
  ['a raw %', 'redis://:p%w@queue'],
  ['a raw % in the user name', 'redis://p%w:x@queue'],
  ['a byte that is no text', 'redis://:%ff@queue'],
  ['a raw #', 'redis://:hunter#2@queue'],
  ['a raw ?', 'redis://:hunter?2@queue'],
  ['a raw /', 'redis://:hunter/2@queue'],
  ['a newline', 'redis://:hunter\n2@queue'],
])('a password with %s is refused by the name of its variable, and not shown', (_, url) => {
  const load = () => loadConfig(Config, { REDIS_URL: url })
  expect(load).toThrow(/^wrong configuration: REDIS_URL is set: expected .*% as %25/)
  expect(load).not.toThrow(/hunter|p%w/)
})

test.each(['redis://queue/name', 'redis://queue/1/2', 'redis://queue?family=6', 'redis://queue/1#x'])(
  'nothing but a database follows the host: %s',
  (url) => {
    expect(() => loadConfig(Config, { REDIS_URL: url })).toThrow('but the number of a database')
  },
)

test('an address of IPv6 has brackets before a port, and may have them where it stands alone', () => {
  expect(loadConfig(Config, { LISTEN: '[::]:1', HOST: '[::1]' })).toEqual({ LISTEN: '[::]:1', HOST: '::1' })
  expect(loadConfig(Config, { HOST: '::1' })).toEqual({ HOST: '::1' })
  expect(() => loadConfig(Config, { LISTEN: '::1:1' })).toThrow('LISTEN is "::1:1": expected host:port')
})

test('an address that is called without a login has none', () => {
  expect(loadConfig(Config, { ADMIN_URL: 'http://[::1]:8090' })).toEqual({ ADMIN_URL: 'http://[::1]:8090' })
  expect(() => loadConfig(Config, { ADMIN_URL: 'http://a:hunter2@billing' })).toThrow(
    'ADMIN_URL is set: expected no user name and no password',
  )
})
