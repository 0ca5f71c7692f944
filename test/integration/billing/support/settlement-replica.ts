import { randomUUID } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { createMetrics } from '#apps/billing/metrics.ts'
import { runSettlements } from '#apps/billing/settlements/run-settlements.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { settlementStreamKey } from '#libs/generation-record/keys.ts'
import type { RedisPlace } from '#libs/config/redis-fields.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { NO_TRACING } from '#libs/telemetry/tracing.ts'
import { log, type BillingDatabase } from './billing-database.ts'

export type SettlementReplica = {
  /** Sum of the alarms of one kind. */
  alarms(kind: string): Promise<number>
  writtenOffCredits(): Promise<number>
  /** Of a model, in seconds; undefined when there is none. */
  watermarkAge(model: string): Promise<number | undefined>
  stop(): Promise<void>
}

/** One replica's consumer and sweeper. Entries of others count as abandoned after `claimIdleMs`. */
export function startReplica(options: {
  database: BillingDatabase
  redis: RedisPlace
  models?: () => readonly string[]
  claimIdleMs?: number
  consumer?: string
}): SettlementReplica {
  const {
    database,
    redis,
    models = () => ['chat', 'embed', 'odd'],
    claimIdleMs = 100,
    consumer = randomUUID(),
  } = options
  const metrics = createMetrics(new Registry(), () => 0)
  const stop = runSettlements({
    redis: openRedis({ place: redis, name: 'billing', patience: 'bounded', log }),
    consumer,
    money: database.money,
    models,
    tracing: NO_TRACING,
    metrics,
    log,
    claimIdleMs,
    readPauseMs: 20,
    sweepEveryMs: 50,
  })
  return {
    async alarms(kind) {
      const { values } = await metrics.settlementAlarms.get()
      return values.find(({ labels }) => labels.kind === kind)?.value ?? 0
    },
    async writtenOffCredits() {
      const { values } = await metrics.writtenOffCredits.get()
      return values[0]?.value ?? 0
    },
    async watermarkAge(model) {
      const { values } = await metrics.watermarkAge.get()
      return values.find(({ labels }) => labels.model === model)?.value
    },
    stop,
  }
}

/** A patient connection, for the test's own commands. */
export function connect(url: string): Redis {
  return openRedis({ place: { mode: 'single', url }, name: 'test', patience: 'patient', log })
}

export async function addSettlement(
  redis: Redis | Cluster,
  model: string,
  settlement: Settlement,
): Promise<void> {
  const fields = Object.entries(settlement).flatMap(([name, value]) => [name, String(value)])
  await redis.xadd(settlementStreamKey(model), '*', ...fields)
}
