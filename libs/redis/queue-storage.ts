import { Cluster, type Redis } from 'ioredis'

/** How a server keeps its keys. A value is null if the server does not report it. */
export type QueueStorage = {
  /** The `maxmemory_policy`, which says which keys the server deletes when its memory is full. */
  readonly policy: string | null
  /** True if the server writes an append-only file. */
  readonly isAppendOnly: boolean | null
}

/** Reads the storage of each server with INFO, which managed servers allow even if they refuse CONFIG. */
export async function readQueueStorage(redis: Redis | Cluster): Promise<QueueStorage[]> {
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis]
  return await Promise.all(
    servers.map(async (server) => {
      const [memory, persistence] = await Promise.all([server.info('memory'), server.info('persistence')])
      const appends = /^aof_enabled:([01])/m.exec(persistence)?.[1]
      return {
        policy: /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? null,
        isAppendOnly: appends === undefined ? null : appends === '1',
      }
    }),
  )
}

/**
 * Returns true if the server would delete keys when its memory is full. It would delete waiting work, and settlements
 * that are not charged yet.
 */
export const evicts = (policy: string | null) => policy !== null && policy !== 'noeviction'
