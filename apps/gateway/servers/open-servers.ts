import { createBillingClient } from '#libs/billing-client/billing-client.ts'
import { toBusRedis, toQueueRedis } from '#libs/config/redis-fields.ts'
import { busRights, queueRights } from '#libs/queue-redis/rights.ts'
import { openChannelCredentials } from '#libs/grpc/open-credentials.ts'
import type { Releasers } from '#libs/lifecycle/releasers.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import { toBusServer } from '#libs/redis/bus-server.ts'
import { connectRedis, type RedisClient, type RedisPatience } from '#libs/redis/connect-redis.ts'
import { awaitFitQueue } from '#libs/redis/await-fit-queue.ts'
import { watchBusLosses } from '#libs/redis/watch-bus-losses.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { GatewayConfig } from '../config.ts'
import { createGatherTime } from './gather-time.ts'
import { createQueueClock, type QueueClock } from './queue-clock.ts'
import type { RedisMetrics } from './redis-metrics.ts'

const LOSSES_EVERY_MS = 10_000

type Opening = { config: Readonly<GatewayConfig>; releasers: Releasers; log: Logger }

/** Opens the connections to the queue Redis, and to the bus server that belongs to this gateway. */
export async function openRedisServers(
  { config, releasers, log }: Opening,
  of: { gateway: string; metrics: Pick<RedisMetrics, 'watch' | 'noteLoss'>; onQueue: () => void },
) {
  const disconnect = { run: (redis: RedisClient) => redis.disconnect() }
  const named = (role: string, patience: RedisPatience) => ({ name: `gateway-${role}`, patience, log })
  const queueRedis = await connectRedis({
    place: toQueueRedis(config),
    ...named('queue', 'fail-fast'),
    rights: queueRights('gateway'),
  })
  releasers.add('queue', queueRedis, disconnect)
  await awaitFitQueue(queueRedis, { log })
  of.metrics.watch('queue', queueRedis)
  of.onQueue()
  const place = toBusServer(of.gateway, toBusRedis(config))
  const busRedis = await connectRedis({ place, ...named('bus', 'fail-fast'), rights: busRights('gateway') })
  releasers.add('bus', busRedis, disconnect)
  of.metrics.watch('bus', busRedis)
  const losses = watchBusLosses({
    redis: busRedis,
    everyMs: LOSSES_EVERY_MS,
    onLoss: of.metrics.noteLoss,
    log,
  })
  releasers.add('bus losses', losses, { run: (stop) => stop() })
  const busSubscriber = await connectRedis({ place, ...named('bus-subscriber', 'patient') })
  releasers.add('bus-subscriber', busSubscriber, disconnect)
  return { queueRedis, busRedis, busSubscriber }
}

/** Resolves once the queue Redis has reported its time. */
export async function openQueueClock(redisTimeMs: () => Promise<number>, log: Logger): Promise<QueueClock> {
  return await untilAnswered(async () => await createQueueClock(redisTimeMs), {
    firstPauseMs: 50,
    lastPauseMs: 1_000,
    onFailure: (error) => log.warn({ err: error }, 'the clock of the queue Redis was not read'),
  })
}

/** Opens the client of billing, with its certificates. */
export async function openBilling({ config, releasers, log }: Opening) {
  const tls = {
    ca: config.BILLING_TLS_CA_FILE,
    cert: config.BILLING_TLS_CERT_FILE,
    key: config.BILLING_TLS_KEY_FILE,
  }
  const { credentials } = releasers.add('certificates', await openChannelCredentials(tls, { log }), {
    run: ({ close }) => close(),
  })
  const gatherMs = createGatherTime()
  const billing = createBillingClient({ address: config.BILLING_ADDRESS, credentials, log, gatherMs })
  releasers.add('billing', billing, { run: () => billing.close() })
  return billing
}
