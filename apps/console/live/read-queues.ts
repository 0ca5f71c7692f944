import { Cluster } from 'ioredis'
import { settlementStreamKey, waitingExpiryKey } from '#libs/queue-redis/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import type { QueueFacts } from './picture.ts'

export type QueueReader = {
  /** Returns null if the queue Redis does not answer. */
  read(models: readonly string[]): Promise<ReadonlyMap<string, QueueFacts> | null>
  /**
   * Returns `used_memory / maxmemory` of the fullest server; null if no server has a limit, or if a server does not
   * answer.
   */
  readMemory(): Promise<number | null>
  /** Returns the number of commands sent since the start. */
  commands(): number
}

/**
 * Reads the queues of models with two commands for each model. A pipeline, which a Cluster cannot use across its nodes,
 * would save about 1 ms of CPU time for 400 models.
 */
export function createQueueReader(deps: { redis: RedisClient; log: Logger }): QueueReader {
  const { redis, log } = deps
  let commands = 0

  async function readModel(model: string): Promise<[string, QueueFacts]> {
    commands += 2
    const [waiting, settled] = await Promise.all([
      redis.zcard(waitingExpiryKey(model)),
      redis.xinfo('STREAM', settlementStreamKey(model)).then(toEntriesAdded, orNoStream),
    ])
    return [model, { waiting, settled }]
  }

  return {
    async read(models) {
      try {
        return new Map(await Promise.all(models.map(readModel)))
      } catch (error) {
        log.debug({ err: error }, 'the queues were not read')
        return null
      }
    },
    async readMemory() {
      try {
        const servers = redis instanceof Cluster ? redis.nodes('master') : [redis]
        commands += servers.length
        const shares = await Promise.all(servers.map(async (server) => toShare(await server.info('memory'))))
        const known = shares.filter((share) => share !== null)
        return known.length === 0 ? null : Math.max(...known)
      } catch (error) {
        log.debug({ err: error }, 'the memory of the queue Redis was not read')
        return null
      }
    },
    commands: () => commands,
  }
}

/** Returns `entries-added`. XINFO STREAM answers with a list of names, each followed by its value. */
function toEntriesAdded(info: unknown): number {
  if (!Array.isArray(info)) throw new TypeError('XINFO STREAM answers with a list')
  const at = info.indexOf('entries-added')
  const value: unknown = info[at + 1]
  if (at < 0 || typeof value !== 'number') throw new TypeError('XINFO STREAM answers without entries-added')
  return value
}

/** Returns 0 for a model without a stream, which has had no settlement yet. */
function orNoStream(error: unknown): number {
  if (error instanceof Error && error.message.includes('no such key')) return 0
  throw error
}

function toShare(info: string): number | null {
  const read = (name: string) => Number(new RegExp(String.raw`^${name}:(\d+)`, 'm').exec(info)?.[1])
  const [used, most] = [read('used_memory'), read('maxmemory')]
  return most > 0 ? used / most : null
}
