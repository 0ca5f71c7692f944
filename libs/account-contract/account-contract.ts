import { ACTIVITY } from './resources/activity.ts'
import { GENERATIONS } from './resources/generations.ts'
import { KEYS } from './resources/keys.ts'
import { OWN } from './resources/own.ts'

/** The path under which gateways serve the operations. */
export const ACCOUNT_ROOT = '/v1'

/**
 * The operations of a key and of a management key, by id: a key reads its own data; a management key also reads and
 * changes the keys of its account. The shapes are those in the public interface. Billing answers the operations,
 * gateways forward them, and the account page calls them.
 */
export const ACCOUNT = { ...OWN, ...GENERATIONS, ...ACTIVITY, ...KEYS }

export type AccountOperationId = keyof typeof ACCOUNT
