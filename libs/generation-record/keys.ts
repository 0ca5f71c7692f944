import { currentCell } from '#libs/config/cell.ts'

/**
 * All key names of the queue Redis. The keys of one model share the hash tag `{model}`, so that a Redis Cluster keeps a
 * model in one slot and spreads models over nodes.
 *
 * All names begin with the form and the cell: `mr2:main:`. The cell's name keeps cells that share a server apart. The
 * numbers of Redis databases could not do this: pub/sub ignores them, and a Cluster has only one database.
 */

/**
 * The number of this release's form, which is the format of its records, queued jobs, frames and heartbeats. The prefix
 * of keys and channels contains the number, and heartbeats carry it, so that releases of different forms run side by
 * side without seeing each other.
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

/** The compressed request, if it is too large to be stored in the job. */
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
 * Sorted set of all waiting generations by the time at which they expire (Redis ms). The length of the queue is the
 * size of this set without its expired generations.
 */
export const waitingExpiryKey = (model: string) => `${modelPrefix(model)}waiting-expiry`

/**
 * Hash: account → bytes, cost and number of its waiting generations, separated by spaces; `ALL_ACCOUNTS` → of all
 * waiting generations.
 */
export const waitingSumsKey = (model: string) => `${modelPrefix(model)}waiting-sums`
export const ALL_ACCOUNTS = ''

/** Sorted set: account → the tag at which it has used its share. */
export const finishKey = (model: string) => `${modelPrefix(model)}finish`

/** The virtual time: the highest tag that was claimed. */
export const virtualTimeKey = (model: string) => `${modelPrefix(model)}virtual`

/** Stream of the model's settlements, consumed by billing. */
export const settlementStreamKey = (model: string) => `${modelPrefix(model)}settlements`

/**
 * `<run id> <Redis ms>`, written by billing: its database has committed all entries of this run (`SettlementMark`) that
 * were appended up to this time.
 */
export const settlementMarkKey = (model: string) => `${settlementStreamKey(model)}:mark`

/**
 * Hash, written by billing: the stream's incarnation, which changes when entries were lost, and the facts about the
 * stream's entries by which billing notices a loss (`observe.lua` of billing).
 */
export const settlementStateKey = (model: string) => `${settlementStreamKey(model)}:state`

/**
 * BullMQ's key prefix for the model's queue, which normally has one job for each waiting generation. The queue is named
 * `JOB_QUEUE`.
 */
export const jobQueuePrefix = (model: string) => `${keyPrefix()}{${model}}`
export const JOB_QUEUE = 'generations'

/**
 * The secret from which the salts are made: the names under which engines keep the cached prefixes of one account, or
 * of one key.
 */
export const prefixSecretKey = () => `${keyPrefix()}prefix-secret`

/**
 * Sorted set of the requests that were ended because they had killed engines, by the time at which they were ended
 * (Redis ms). Each member begins with its account.
 */
export const killersKey = () => `${keyPrefix()}killers`

/** The queue's own random id. It shares a slot with `databaseClaimKey`. */
export const queueIdKey = () => `${keyPrefix()}{billing:}queue`

/**
 * The database that has claimed this queue: only the billing of that database charges the queue's settlements. The
 * value is the database's id and its place. The key expires if billing does not renew it.
 */
export const databaseClaimKey = () => `${keyPrefix()}{billing:}database`

/** Exists while the process with this boot id is alive. */
export const livenessKey = (bootId: string) => `${keyPrefix()}live:${bootId}`
