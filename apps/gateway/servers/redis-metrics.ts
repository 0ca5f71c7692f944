import { Cluster } from 'ioredis'
import type { Registry } from '@prometheus-io/client'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import { BUS_LOSSES, type BusLoss } from '#libs/redis/watch-bus-losses.ts'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'

/** The servers that a gateway needs. `bus` is the gateway's own bus server. */
const ROLES = ['queue', 'bus'] as const
type Role = (typeof ROLES)[number]

export type RedisMetrics = {
  /** From now on this connection is measured. */
  watch(role: Role, redis: RedisClient): void
  /** Sends each server a PING. Must be called each second. */
  tick(): void
  /** Adds `count` to the counter of this kind of loss of the bus server (see `watch-bus-losses.ts`). */
  noteLoss(loss: BusLoss, count: number): void
}

/** The buckets reach from a server on the same machine (0.1 ms) to the limit of a command (500 ms). */
const BUCKETS_S = [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5]

/**
 * Measures the queue Redis and the bus Redis with a PING each second. So the number of measurements is the same under
 * any load, and requests pay nothing for them. The PING uses the connection of the gateway's commands, so a slow answer
 * also shows that the commands before it are slow.
 */
export function createRedisMetrics(registry: Registry): RedisMetrics {
  const { counter, gauge, histogram } = declareMetrics(registry)
  const up = gauge({
    name: 'millrace_redis_up',
    help: '1 while this process reaches the Redis of the role; of a Cluster, every master',
    labelNames: ['role'],
  })
  const seconds = histogram({
    name: 'millrace_redis_command_seconds',
    help: 'Time to the answer of a PING, sent each second; those without an answer are not in it',
    labelNames: ['role'],
    buckets: BUCKETS_S,
  })
  const losses = counter({
    name: 'millrace_bus_losses_total',
    help: 'Clients that the bus server of this gateway disconnected by its limits, and keys that it evicted',
    labelNames: ['loss'],
  })
  for (const loss of BUS_LOSSES) losses.inc({ loss }, 0)
  // The gauge has a value from the start, because a gateway may wait long for Redis.
  for (const role of ROLES) up.set({ role }, 0)
  const watched = new Map<Role, RedisClient>()

  async function measure(role: Role, redis: RedisClient): Promise<void> {
    try {
      const startedMs = performance.now()
      await pingAll(redis)
      seconds.observe({ role }, (performance.now() - startedMs) / 1_000)
      up.set({ role }, 1)
    } catch {
      // The connection itself logs the reason.
      up.set({ role }, 0)
    }
  }

  return {
    noteLoss: (loss, count) => losses.inc({ loss }, count),
    watch: (role, redis) => void watched.set(role, redis),
    tick() {
      for (const [role, redis] of watched) void measure(role, redis)
    },
  }
}

async function pingAll(redis: RedisClient): Promise<void> {
  if (!(redis instanceof Cluster)) {
    await redis.ping()
    return
  }
  const masters = redis.nodes('master')
  if (masters.length === 0) throw new Error('the Cluster has no known master')
  await Promise.all(masters.map(async (node) => await node.ping()))
}
