/**
 * All key names of the queue Redis. The keys of one model share the hash tag `{model}`, so that a Redis Cluster keeps a
 * model in one slot and spreads models over nodes.
 */

/** One hash per generation: which worker may run it, and whether it is settled. */
export const recordKey = (model: string, id: string) => `mr:{${model}}:g:${id}`

/** A large request, compressed, beside its record. */
export const promptKey = (model: string, id: string) => `mr:{${model}}:p:${id}`

/** Sorted set of the waiting generations, by tag. */
export const waitingKey = (model: string) => `mr:{${model}}:waiting`

/** Stream of the model's settlements, consumed by billing. */
export const settlementStreamKey = (model: string) => `mr:{${model}}:settlements`

/** BullMQ's key prefix for the model's tickets; the queue itself is named `TICKET_QUEUE`. */
export const ticketPrefix = (model: string) => `mr:{${model}}`
export const TICKET_QUEUE = 'tickets'

/** Exists while the process with this boot id is alive: written each second with a TTL of 3 s. */
export const livenessKey = (bootId: string) => `mr:live:${bootId}`

/** The time at which each waiting id is dropped, so that the entries of a dead gateway stop counting as waiting. */
export const waitingExpiryKey = (model: string) => `mr:{${model}}:waiting-expiry`

/** Fair tags that were issued and not yet used: by tag, and by the time of issue. */
export const issuedKey = (model: string) => `mr:{${model}}:issued`
export const issuedAtKey = (model: string) => `mr:{${model}}:issued-at`

/** State of the fair queueing: the finish tags of accounts, and the virtual time. */
export const finishKey = (model: string) => `mr:{${model}}:finish`
export const fairKey = (model: string) => `mr:{${model}}:fair`
