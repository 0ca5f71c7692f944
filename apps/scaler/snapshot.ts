import { z } from 'zod'
import { scalerKeys } from '#libs/queue-redis/keys.ts'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import { BudgetState, PoolState, StartTimes } from './decide/types.ts'
import { toHolder } from './lead.ts'
import { ModelReport } from './model-report.ts'

const known = z.number().min(0).nullable()

/** A model's means, which are kept while it has no worker. */
export const KeptMeans = z.object({
  meanServiceMs: known,
  meanOutputTokens: known,
  decodePerReplica: known,
  prefillPerReplica: known,
  slotsPerReplica: known,
})
export type KeptMeans = z.infer<typeof KeptMeans>

/** Start times of a pool's newest image. */
export const PoolStarts = z.object({ image: z.string(), times: StartTimes })
export type PoolStarts = z.infer<typeof PoolStarts>

/** The state of the gateways' pool. */
export const GatewayState = z.object({ target: z.int().min(0), lastDownMs: z.number().min(0).nullable() })
export type GatewayState = z.infer<typeof GatewayState>

/** The numbers with which KEDA's calls are answered. */
export const PoolAnswer = z.object({ target: z.int().min(0), isActive: z.boolean() })
export type PoolAnswer = z.infer<typeof PoolAnswer>

/**
 * Everything that the leader publishes and remembers, as one JSON text. Times are by the queue Redis' clock, in Unix
 * ms. Readers ignore unknown fields.
 */
export const Snapshot = z.object({
  term: z.int(),
  answers: z.record(z.string(), PoolAnswer),
  pools: z.record(z.string(), PoolState),
  budget: BudgetState,
  means: z.record(z.string(), KeptMeans),
  starts: z.record(z.string(), PoolStarts),
  gateway: GatewayState.nullable(),
  /** For each model that should have replicas but has no pod that serves or loads, the time since which this is so. */
  starving: z.record(z.string(), z.number().min(0)),
  report: z.array(ModelReport),
})
export type Snapshot = z.infer<typeof Snapshot>

export type SnapshotStore = {
  /**
   * Resolves with true if the snapshot was written, and with false if this process no longer leads in the snapshot's
   * term.
   */
  write(snapshot: Snapshot): Promise<boolean>
  /**
   * Resolves with the last snapshot and its age in ms by Redis' clock. Resolves with null if there is no snapshot, or
   * if this version of the scaler cannot read the snapshot.
   */
  read(): Promise<{ snapshot: Snapshot; ageMs: number } | null>
}

/**
 * A snapshot is kept for this time. If all scalers are away for longer, the next scaler begins anew from the state of
 * Kubernetes.
 */
const KEPT_MS = 7 * 86_400_000

/** The store of the snapshot. Both calls reject if Redis does not answer. */
export function createSnapshotStore(options: {
  redis: RedisClient
  name: string
  /** The boot id of this process. */
  self: string
}): SnapshotStore {
  const { redis, self } = options
  const { leader, snapshot: key } = scalerKeys(options.name)
  return {
    async write(snapshot) {
      const text = JSON.stringify(snapshot)
      const holder = toHolder(self, snapshot.term)
      return (await redis.eval(WRITE, 2, leader, key, holder, text, String(KEPT_MS))) === 1
    },
    async read() {
      const [text, ageMs] = ReadReply.parse(await redis.eval(READ, 1, key))
      const snapshot = text === '' ? null : Snapshot.safeParse(JSON.parse(text)).data
      return snapshot === null || snapshot === undefined ? null : { snapshot, ageMs: Math.max(0, ageMs) }
    },
  }
}

/**
 * Writes the snapshot only if this process leads in the snapshot's term, so that a former leader cannot write. KEYS:
 * leader, snapshot. ARGV: the value that the key `leader` has while this process leads in this term, the snapshot as
 * text, ms to keep the snapshot. Returns 1, or 0 if the key `leader` has another value or does not exist.
 */
const WRITE = `#!lua flags=allow-oom
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[2], 'text', ARGV[2], 'written', string.format('%d', now))
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1`

/** KEYS: snapshot. Returns { the text or '', its age in ms }. */
const READ = `#!lua flags=no-writes
local stored = redis.call('HMGET', KEYS[1], 'text', 'written')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return { stored[1] or '', now - (stored[2] or now) }`

const ReadReply = z.tuple([z.string(), z.int()])
