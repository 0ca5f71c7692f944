import { Redis } from 'ioredis'

/** The rights of the Redis user that docs/operators.md gives to gateways, workers, billing and scalers, one rule each. */
export const APP_RULES = [
  '~mr2:main:*',
  '&mr2:main:*',
  '+@read',
  '+@write',
  '+@pubsub',
  '+@scripting',
  '+@transaction',
  '+@connection',
  '-@dangerous',
  '+info',
  '+time',
  '+cluster|slots',
  '+cluster|info',
] as const

/** `ACL SETUSER` of that user, without the rules of `but`. */
export const appUser = (password: string, but: readonly string[] = []): readonly string[] => [
  'millrace',
  'reset',
  'on',
  `>${password}`,
  '-@all',
  ...APP_RULES.filter((rule) => !but.includes(rule)),
]

/** Creates that user on a server, and returns the URL with its login. `url` is that of an administrator. */
export async function createAppUser(url: string): Promise<string> {
  const password = 'of-the-apps'
  const owner = new Redis(url)
  try {
    await owner.call('ACL', 'SETUSER', ...appUser(password))
  } finally {
    owner.disconnect()
  }
  return Object.assign(new URL(url), { username: 'millrace', password }).href
}
