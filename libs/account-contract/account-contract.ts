import { ACTIVITY } from './resources/activity.ts'
import { GENERATIONS } from './resources/generations.ts'
import { KEYS } from './resources/keys.ts'
import { OWN } from './resources/own.ts'

/** The path under which gateways serve the operations. */
export const ACCOUNT_ROOT = '/v1'

/**
 * The operations that API keys and management keys may call, by id. A key reads its own data. A management key also
 * reads and changes the API keys of its account. Requests and answers have the shapes of the public interface. Billing
 * answers the operations, gateways forward them, and the account page calls them.
 */
export const ACCOUNT = { ...OWN, ...GENERATIONS, ...ACTIVITY, ...KEYS }

export type AccountOperationId = keyof typeof ACCOUNT
