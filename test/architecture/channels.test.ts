import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

const FACTORY = 'libs/grpc/open-client.ts'

/** Matches the import of a value with which a channel can be made. A type does not count. */
const CHANNEL_VALUE =
  /^import \{[^}]*(?<!type )\b(?:ChannelCredentials|Channel|credentials|makeClientConstructor)\b[^}]*\} from '@grpc\/grpc-js'/m

test('every channel of gRPC is made by one factory, which keeps proxies of the environment out', () => {
  const files = sourceFiles('{apps,libs,scripts}/**/*.ts').filter(({ text }) => CHANNEL_VALUE.test(text))
  expect(files.map(({ path }) => path).filter((path) => !path.startsWith('libs/grpc/'))).toEqual([])
  expect(files.map(({ path }) => path)).toContain(FACTORY)
})

test('addresses are taken apart in one place', () => {
  const BY_HAND = /split\(['"]:['"]\)|lastIndexOf\(['"]:['"]\)|includes\(':'\) \? `\[/
  const files = sourceFiles('{apps,libs,scripts}/**/*.{ts,mjs}').filter(({ text }) => BY_HAND.test(text))
  // `to-network.ts` splits the groups of an IPv6 address, not a host and a port.
  const allowed = ['libs/config/host-port.ts', 'libs/rate-limit/to-network.ts']
  expect(files.map(({ path }) => path)).toEqual(allowed)
})
