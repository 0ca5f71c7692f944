import { currentCell } from '#libs/config/cell.ts'

/**
 * All key names of the queue Redis. The keys of one model share the hash tag `{model}`, so that a Redis Cluster keeps a
 * model in one slot and spreads models over nodes.
 *
 * All names begin with the form and the cell: `mr2:main:`. The name of the cell keeps cells apart that share a server,
 * because the numbers of Redis' databases do not: pub/sub ignores them, and a Cluster has only one.
 */

/**
 * The form of record, queued jobs, frames and heartbeats that this release speaks. Keys and channels of one form share a prefix,
 * and heartbeats carry it, so that releases of different forms run side by side without seeing each other.
 */
export const FORM = 2

/** Every key and channel of this form and of this process' cell begins with it. */
export const keyPrefix = () => `mr${FORM}:${currentCell()}:`

/** All keys of one model begin with it; the scripts derive the names of this file from it. */
export const modelPrefix = (model: string) => `${keyPrefix()}{${model}}:`

/** One hash per generation: its epoch, which worker runs it, and whether it is settled. */
export const recordKey = (model: string, id: string) => `${modelPrefix(model)}g:${id}`

/** The job as text, with the request when it is small. Apart from the record, so that the record stays compact. */
export const jobKey = (model: string, id: string) => `${modelPrefix(model)}j:${id}`

/** A large request, compressed, beside its record. */
export const promptKey = (model: string, id: string) => `${modelPrefix(model)}p:${id}`

/** The ids after which this epoch continues, as unsigned 32 bit integers, little endian. */
export const idsKey = (model: string, id: string) => `${modelPrefix(model)}i:${id}`

/** Sorted set of the generations that wait with these needs (`encodeNeeds`), by tag, then by arrival; ends with the id. */
export const waitingKey = (model: string, needs: string) => `${modelPrefix(model)}waiting:${needs}`

/** Set of the needs with which something waits. */
export const needsKey = (model: string) => `${modelPrefix(model)}needs`

/** Sorted set of all that waits by expiry (Redis ms), after which it no longer counts. Its size is the queue's length. */
export const waitingExpiryKey = (model: string) => `${modelPrefix(model)}waiting-expiry`

/** Hash: account → bytes of its waiting generations; `ALL_BYTES` → of all. */
export const waitingBytesKey = (model: string) => `${modelPrefix(model)}waiting-bytes`
export const ALL_BYTES = ''

/** Sorted set: account → the tag at which its last generation ends. */
export const finishKey = (model: string) => `${modelPrefix(model)}finish`

/** The virtual time: the highest tag that was claimed. */
export const virtualTimeKey = (model: string) => `${modelPrefix(model)}virtual`

/** Stream of the model's settlements, consumed by billing. */
export const settlementStreamKey = (model: string) => `${modelPrefix(model)}settlements`

/** `<run id> <Redis ms>`, written by billing: entries of that run up to that time are committed in its database. */
export const settlementMarkKey = (model: string) => `${settlementStreamKey(model)}:mark`

/** Hash, written by billing: the stream's incarnation, which changes when entries were lost, and what it last had. */
export const settlementStateKey = (model: string) => `${settlementStreamKey(model)}:state`

/** BullMQ's key prefix of the model's queue of jobs, one for each generation that waits; the queue is named `JOB_QUEUE`. */
export const jobQueuePrefix = (model: string) => `${keyPrefix()}{${model}}`
export const JOB_QUEUE = 'generations'

/** The secret of the names under which engines keep the cached prefixes of tenants apart. */
export const prefixSecretKey = () => `${keyPrefix()}prefix-secret`

/** Sorted set of the requests that ended because they kill engines, by time (Redis ms); each begins with its account. */
export const killersKey = () => `${keyPrefix()}killers`

/** The queue's own random id. It shares a slot with `databaseClaimKey`. */
export const queueIdKey = () => `${keyPrefix()}{billing:}queue`

/** The database that billing charges this queue's settlements in, while its claim lasts. */
export const databaseClaimKey = () => `${keyPrefix()}{billing:}database`

/** Exists while the process with this boot id is alive. */
export const livenessKey = (bootId: string) => `${keyPrefix()}live:${bootId}`
