import { busRules, queueRules } from '#libs/queue-redis/rights.ts'

/** The rules of the Redis user that docs/operators.md gives to gateways, workers, billing and scalers. */
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

const PASSWORD = 'of-the-apps'

/**
 * The setting that creates the apps' user at each start of a server. A user that a command creates is gone after a
 * restart.
 */
export const APP_USER_SETTING = { user: appUser(PASSWORD).join(' ') }

/** Returns the URL with the login of the apps' user. */
export function asAppUser(url: string): string {
  return Object.assign(new URL(url), { username: 'millrace', password: PASSWORD }).href
}

/** The setting of a Redis user that has the rights of a scaler on queue and bus, and no others. */
export const SCALER_USER_SETTING = {
  user: ['scaler', 'on', `>${PASSWORD}`, '-@all', ...queueRules('scaler'), ...busRules('scaler')].join(' '),
}

/** Returns the URL with the login of the scaler's user. */
export function asScalerUser(url: string): string {
  return Object.assign(new URL(url), { username: 'scaler', password: PASSWORD }).href
}
