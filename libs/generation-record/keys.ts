import { currentCell } from '#libs/config/cell.ts'

/**
 * All key names of the queue Redis. The keys of one model share the hash tag `{model}`, so that a Redis Cluster keeps a
 * model in one slot and spreads models over nodes.
 *
 * All names begin with the form and the cell: `mr2:main:`. The name of the cell keeps cells apart that share a server,
 * because the numbers of Redis' databases do not: pub/sub ignores them, and a Cluster has only one.
 */

/**
 * The number of the form of records, queued jobs, frames and heartbeats in this release. Keys and channels of one form
 * share a prefix, and heartbeats carry the number, so that releases of different forms run side by side without seeing
 * each other.
 */
export const FORM = 2

/** The beginning of every key and channel of this form and of this process' cell. */
export const keyPrefix = () => `mr${FORM}:${currentCell()}:`

/** The beginning of all keys of one model. The scripts derive the names of this file from it. */
export const modelPrefix = (model: string) => `${keyPrefix()}{${model}}:`

/** One hash per generation: its epoch, which worker runs it, and whether it is settled. */
export const recordKey = (model: string, id: string) => `${modelPrefix(model)}g:${id}`

/**
 * The job as text, with its request if that is small. The job has a key of its own, so that the record stays compact.
 */
export const jobKey = (model: string, id: string) => `${modelPrefix(model)}j:${id}`

/** A large request, compressed, beside its record. */
export const promptKey = (model: string, id: string) => `${modelPrefix(model)}p:${id}`

/** The ids after which this epoch continues, as unsigned 32 bit integers, little endian. */
export const idsKey = (model: string, id: string) => `${modelPrefix(model)}i:${id}`

/**
 * Sorted set of the generations that wait with these needs (`encodeNeeds`), by tag, then by arrival. Each member ends
 * with the generation's id.
 */
export const waitingKey = (model: string, needs: string) => `${modelPrefix(model)}waiting:${needs}`

/** Set of all needs with which a generation waits. */
export const needsKey = (model: string) => `${modelPrefix(model)}needs`

/**
 * Sorted set of all waiting generations by expiry (Redis ms); an expired one no longer counts. Its size is the queue's
 * length.
 */
export const waitingExpiryKey = (model: string) => `${modelPrefix(model)}waiting-expiry`

/** Hash: account → bytes of its waiting generations; `ALL_BYTES` → bytes of all waiting generations. */
export const waitingBytesKey = (model: string) => `${modelPrefix(model)}waiting-bytes`
export const ALL_BYTES = ''

/** Sorted set: account → the tag at which its last generation ends. */
export const finishKey = (model: string) => `${modelPrefix(model)}finish`

/** The virtual time: the highest tag that was claimed. */
export const virtualTimeKey = (model: string) => `${modelPrefix(model)}virtual`

/** Hash: seat → time and worker of its last claim. A seat is the hashed beginning of a conversation. */
export const seatsKey = (model: string) => `${modelPrefix(model)}seats`

/** Sorted set: generation → the time until which only an offer may claim it (Redis ms). */
export const reservedKey = (model: string) => `${modelPrefix(model)}reserved`

/** Sorted set of the seats by the time of their last claim (Redis ms). */
export const seatAgesKey = (model: string) => `${modelPrefix(model)}seat-ages`

/** Stream of the model's settlements, consumed by billing. */
export const settlementStreamKey = (model: string) => `${modelPrefix(model)}settlements`

/** `<run id> <Redis ms>`, written by billing: its database has committed the entries of that run up to that time. */
export const settlementMarkKey = (model: string) => `${settlementStreamKey(model)}:mark`

/**
 * Hash, written by billing: the stream's incarnation, which changes when entries were lost, and the counts of billing's
 * last observation of the stream.
 */
export const settlementStateKey = (model: string) => `${settlementStreamKey(model)}:state`

/**
 * BullMQ's key prefix for the model's queue, which has one job for each waiting generation. The queue is named
 * `JOB_QUEUE`.
 */
export const jobQueuePrefix = (model: string) => `${keyPrefix()}{${model}}`
export const JOB_QUEUE = 'generations'

/**
 * The secret from which the names of tenants are made. Engines keep the cached prefixes of tenants apart by these names.
 */
export const prefixSecretKey = () => `${keyPrefix()}prefix-secret`

/**
 * Sorted set of the requests that ended because they kill engines, by time (Redis ms). Each member begins with its
 * account.
 */
export const killersKey = () => `${keyPrefix()}killers`

/** The queue's own random id. It shares a slot with `databaseClaimKey`. */
export const queueIdKey = () => `${keyPrefix()}{billing:}queue`

/** The database that billing charges this queue's settlements in, while its claim lasts. */
export const databaseClaimKey = () => `${keyPrefix()}{billing:}database`

/** Exists while the process with this boot id is alive. */
export const livenessKey = (bootId: string) => `${keyPrefix()}live:${bootId}`
