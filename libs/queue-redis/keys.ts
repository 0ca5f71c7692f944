import { currentCell } from '#libs/config/cell.ts'

/**
 * All key names of the queue Redis. The keys of one model share the hash tag `{model}`, so that a Redis Cluster keeps
 * all keys of a model on one node, and spreads the models over its nodes.
 *
 * All names begin with the release's form (`FORM`) and the cell's name: `mr2:main:` for the form 2 and the cell `main`.
 * The cell's name keeps cells that share a server apart. The numbers of Redis databases could not do this: pub/sub
 * ignores them, and a Cluster has only one database.
 */

/**
 * The number of this release's form, which is the format of its records, queued jobs, frames and heartbeats. The prefix
 * of keys and channels contains the number, so that releases of different forms run side by side without seeing each
 * other.
 */
const FORM = 2

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
 * Sorted set of the generations that wait with these requirements (`encodeRequirements`), by tag, then by arrival. Each member ends
 * with the generation's id.
 */
export const waitingKey = (model: string, requirements: string) =>
  `${modelPrefix(model)}waiting:${requirements}`

/** Set of all requirements with which a generation waits. */
export const requirementsKey = (model: string) => `${modelPrefix(model)}requirements`

/**
 * Sorted set of all waiting generations by the time at which they expire (Redis ms). The length of the queue is the
 * size of this set without its expired generations.
 */
export const waitingExpiryKey = (model: string) => `${modelPrefix(model)}waiting-expiry`

/**
 * Hash: account → the bytes, the cost and the number of its waiting generations, separated by spaces. The field
 * `ALL_ACCOUNTS` has the same sums for all accounts together.
 */
export const waitingSumsKey = (model: string) => `${modelPrefix(model)}waiting-sums`
export const ALL_ACCOUNTS = ''

/**
 * Sorted set: account → the tag at which it has used its share. The member `VIRTUAL_TIME` has the tag up to which the
 * model has served. A claim moves it to the lowest tag of the generations that wait.
 */
export const finishKey = (model: string) => `${modelPrefix(model)}finish`
export const VIRTUAL_TIME = ''

/** Hash: name of a seat → time and worker of its last claim. The name is a hash of a conversation's beginning. */
export const seatsKey = (model: string) => `${modelPrefix(model)}seats`

/**
 * Sorted set of the seats in the order in which they are forgotten, by the time of their last claim (Redis ms)
 * (`scripts/seats.lua`).
 */
export const seatAgesKey = (model: string) => `${modelPrefix(model)}seat-ages`

/** Sorted set of the generations whose home is this worker, by tag; also some that do not wait any more. */
export const homeKey = (model: string, worker: string) => `${modelPrefix(model)}home:${worker}`

/**
 * List of generations that workers ended because their gateways are dead, for an hour at most (`scripts/shared.lua`).
 * Billing moves them to the settlement stream, on which workers have no rights.
 */
export const orphansKey = (model: string) => `${modelPrefix(model)}orphans`

/** Stream of the model's settlements, consumed by billing. */
export const settlementStreamKey = (model: string) => `${modelPrefix(model)}settlements`

/**
 * Text `<run id> <Redis ms>`, written by billing: its database has committed all entries of the settlement stream that
 * were appended up to this time in the run with this id. `SettlementMark` explains what a run is.
 */
export const settlementMarkKey = (model: string) => `${settlementStreamKey(model)}:mark`

/**
 * Hash, written by billing (`observe.lua` of billing). It has the incarnation of the model's settlement stream, which
 * changes when entries of the stream were lost. It also has facts about the stream's entries. Billing compares these
 * facts with the stream, and so notices that entries were lost.
 */
export const settlementStateKey = (model: string) => `${settlementStreamKey(model)}:state`

/**
 * BullMQ's key prefix for the model's queue, which has one job for each waiting generation that any worker may take. The
 * queue is named `JOB_QUEUE`. `scripts/claim.lua` reads in the queue's hash `meta` whether the queue is paused.
 */
export const jobQueuePrefix = (model: string) => `${keyPrefix()}{${model}}`
export const JOB_QUEUE = 'generations'

/**
 * The secret from which the salts and the names of seats are made. A salt is the name under which an engine keeps the
 * cached prefixes of one account, or of one key.
 */
export const prefixSecretKey = () => `${keyPrefix()}prefix-secret`

/**
 * Sorted set of the requests that were ended because they had killed engines, by the time at which they were ended
 * (Redis ms). Each member begins with its account.
 */
export const killersKey = () => `${keyPrefix()}killers`

/** All keys of the scalers with this name. The hash tag in the keys puts them on one node of a Redis Cluster. */
export const scalerKeys = (name: string) => {
  const prefix = `${keyPrefix()}{scaler:${name}}:`
  return { leader: `${prefix}leader`, term: `${prefix}term`, snapshot: `${prefix}snapshot` }
}

/** The queue's own random id. In a Redis Cluster it is on the same node as `databaseClaimKey`. */
export const queueIdKey = () => `${keyPrefix()}{billing:}queue`

/**
 * The database that has claimed this queue: only the billing of that database charges the queue's settlements. The
 * value is the database's id and its address without a login. The key expires if billing does not renew it.
 */
export const databaseClaimKey = () => `${keyPrefix()}{billing:}database`

/** Exists while the process with this boot id is alive. Workers have no right to write the keys of gateways. */
export const livenessKey = (kind: 'gateway' | 'worker', bootId: string) =>
  `${keyPrefix()}live:${kind}:${bootId}`
