import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { createMetrics } from '#apps/billing/metrics.ts'
import { runSettlements } from '#apps/billing/settlements/run-settlements.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { settlementStreamKey } from '#libs/generation-record/keys.ts'
import { redisOptions } from '#libs/redis/connect-redis.ts'
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
  redisUrl: string
  models?: () => readonly string[]
  claimIdleMs?: number
}): SettlementReplica {
  const { database, redisUrl, models = () => ['chat', 'embed', 'odd'], claimIdleMs = 100 } = options
  const metrics = createMetrics(new Registry(), () => 0)
  const stop = runSettlements({
    redis: connect(redisUrl),
    blocking: connect(redisUrl),
    consumer: randomUUID(),
    money: database.money,
    models,
    metrics,
    log,
    claimIdleMs,
    blockMs: 100,
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

/** A patient connection, for the test's own commands too. */
export function connect(url: string): Redis {
  const redis = new Redis(url, redisOptions('patient'))
  redis.on('error', () => undefined)
  return redis
}

export async function addSettlement(redis: Redis, model: string, settlement: Settlement): Promise<void> {
  const fields = Object.entries(settlement).flatMap(([name, value]) => [name, String(value)])
  await redis.xadd(settlementStreamKey(model), '*', ...fields)
}
