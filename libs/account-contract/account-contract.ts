import { ACTIVITY } from './resources/activity.ts'
import { GENERATIONS } from './resources/generations.ts'
import { KEYS } from './resources/keys.ts'
import { OWN } from './resources/own.ts'

/** The path under which gateways serve the operations. */
export const ACCOUNT_ROOT = '/v1'

/**
 * What a key reads of itself, and what a management key reads and changes of its account: every operation by its id, in
 * the shapes of the public interface. Billing answers them, gateways forward them, and the account page asks for them.
 */
export const ACCOUNT = { ...OWN, ...GENERATIONS, ...ACTIVITY, ...KEYS }

export type AccountOperationId = keyof typeof ACCOUNT
