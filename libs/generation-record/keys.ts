/**
 * The only spelling of the queue Redis' keys. Everything of one model shares the hash tag `{model}`, so that
 * a Redis Cluster keeps a model in one slot and spreads models over nodes.
 */

/** One hash per generation: the truth about who may run it and whether it is settled. */
export const recordKey = (model: string, id: string) => `mr:{${model}}:g:${id}`

/** A large prompt, compressed, beside its record. */
export const promptKey = (model: string, id: string) => `mr:{${model}}:p:${id}`

/** Sorted set of what waits, by tag. */
export const waitingKey = (model: string) => `mr:{${model}}:waiting`

/** How the model's generations ended; consumed by billing. */
export const settlementStreamKey = (model: string) => `mr:{${model}}:settlements`

/** BullMQ's key prefix for the model's tickets; the queue itself is named `TICKET_QUEUE`. */
export const ticketPrefix = (model: string) => `mr:{${model}}`
export const TICKET_QUEUE = 'tickets'

/** Alive while it exists: written each second with a TTL of 3 s by the process with this boot id. */
export const livenessKey = (bootId: string) => `mr:live:${bootId}`

/** When each waiting id is dropped, so that a dead gateway's leftovers do not count as queued for ever. */
export const waitingExpiryKey = (model: string) => `mr:{${model}}:waiting-expiry`

/** Fair tags handed out and not yet used, by tag and by time. */
export const promisedKey = (model: string) => `mr:{${model}}:promised`
export const promisesKey = (model: string) => `mr:{${model}}:promises`

/** Fair queueing's state: the accounts' finish tags and the virtual time. */
export const finishKey = (model: string) => `mr:{${model}}:finish`
export const fairKey = (model: string) => `mr:{${model}}:fair`
