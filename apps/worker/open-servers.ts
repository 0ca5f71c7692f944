import { toBusRedis, toQueueRedis } from '#libs/config/redis-fields.ts'
import { busRights, queueRights } from '#libs/queue-redis/rights.ts'
import type { Releasers } from '#libs/lifecycle/releasers.ts'
import { createConnectBus } from '#libs/redis/connect-bus.ts'
import { connectRedis, type RedisClient, type RedisPatience } from '#libs/redis/connect-redis.ts'
import { awaitFitQueue } from '#libs/redis/await-fit-queue.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { WorkerConfig } from './config.ts'

/** Opens the connections to the queue Redis, and to every server of the bus. */
export async function openRedisServers(opening: {
  config: Readonly<WorkerConfig>
  releasers: Releasers
  log: Logger
}) {
  const { config, releasers, log } = opening
  const disconnect = { run: (redis: RedisClient) => redis.disconnect() }
  const connectQueue = async (role: string, patience: RedisPatience) => {
    const options = { place: toQueueRedis(config), name: `worker-${role}`, patience, log }
    const models = [...new Set(config.WORKERS.map(({ model }) => model))]
    const rights = queueRights('worker', models)
    return releasers.add(role, await connectRedis({ ...options, rights }), disconnect)
  }
  const connectBus = createConnectBus({ app: 'worker', rights: busRights('worker'), releasers, log })
  const queueRedis = await connectQueue('queue', 'fail-fast')
  await awaitFitQueue(queueRedis, { log })
  const jobsRedis = await connectQueue('jobs', 'patient')
  const [firstPlace, ...otherPlaces] = toBusRedis(config)
  const firstServer = await connectBus(firstPlace)
  const servers = [firstServer, ...(await Promise.all(otherPlaces.map(connectBus)))] as const
  return { queueRedis, jobsRedis, servers }
}
