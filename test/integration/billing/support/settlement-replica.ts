import { randomUUID } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { Registry } from '@prometheus-io/client'
import { createMetrics } from '#apps/billing/metrics.ts'
import { runSettlements } from '#apps/billing/settlements/run-settlements.ts'
import { createTimingWriter } from '#apps/billing/settlements/write-timings.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { encodeTiming } from '#libs/contracts/settlement-timing.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import type { RedisPlace } from '#libs/config/redis-fields.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { NO_TRACING } from '#libs/telemetry/tracing.ts'
import { log, receipts, type BillingDatabase } from './billing-database.ts'
import { proven } from './proven.ts'

export type SettlementReplica = {
  /** Returns the number of alarms of one kind. */
  alarms(kind: string): Promise<number>
  writtenOffCredits(): Promise<number>
  /** Returns how often the replica has observed the model's stream. */
  looks(model: string): number
  /** Returns, for each commit so far, its number of settlements. */
  commits(): readonly number[]
  /** Returns how many commits have failed. */
  failedCommits(): number
  /** Returns how often entries have vanished from a stream. */
  losses(): Promise<number>
  deadLetters(): Readonly<Record<string, number>>
  /** Returns the age of a model's watermark in seconds; undefined if it has no watermark. */
  watermarkAge(model: string): Promise<number | undefined>
  stop(): Promise<void>
}

/**
 * Starts the consumer and the sweeper of one replica. It claims entries that others have left alone for `claimIdleMs`.
 */
export function startReplica(options: {
  database: BillingDatabase
  redis: RedisPlace
  models?: () => readonly string[]
  claimIdleMs?: number
  consumer?: string
  gatherMs?: number
  idleSweepEveryMs?: number
}): SettlementReplica {
  const {
    database,
    redis,
    models = () => ['chat', 'embed', 'odd'],
    claimIdleMs = 100,
    consumer = randomUUID(),
    gatherMs = 10,
    idleSweepEveryMs = 100,
  } = options
  const looks = new Map<string, number>()
  const commits: number[] = []
  let failedCommits = 0
  const metrics = createMetrics(new Registry(), () => 0)
  const stop = runSettlements({
    redis: openRedis({ place: redis, name: 'billing', patience: 'bounded', log }),
    consumer,
    money: {
      ...database.money,
      async noteObservations(streams, freezeMs) {
        const recorded = await database.money.noteObservations(streams, freezeMs)
        for (const { model } of streams) looks.set(model, (looks.get(model) ?? 0) + 1)
        return recorded
      },
      async settle(settlements) {
        const settled = await database.money.settle(settlements).catch((error: unknown) => {
          failedCommits += 1
          throw error
        })
        commits.push(settlements.length)
        return settled
      },
    },
    receipts,
    timings: createTimingWriter({ pool: database.servicePool, nowMs: () => Date.now(), log }),
    models,
    tracing: NO_TRACING,
    metrics,
    log,
    claimIdleMs,
    readPauseMs: 20,
    gatherMs,
    sweepEveryMs: 50,
    idleSweepEveryMs,
  })
  return {
    looks: (model) => looks.get(model) ?? 0,
    commits: () => commits,
    failedCommits: () => failedCommits,
    async losses() {
      const { values } = await metrics.streamLosses.get()
      return values[0]?.value ?? 0
    },
    deadLetters: () => Object.fromEntries(metrics.deadLetters.counts()),
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

/** Adds a settlement as a gateway does. One without a receipt gets a proof. */
export async function addSettlement(
  redis: Redis | Cluster,
  model: string,
  { timing, ...settlement }: Settlement,
): Promise<void> {
  const { timing: _timing, ...fieldsOf } = proven(settlement)
  const texts = { ...fieldsOf, ...(timing && { timing: encodeTiming(timing) }) }
  const fields = Object.entries(texts).flatMap(([name, value]) => [name, String(value)])
  await redis.xadd(settlementStreamKey(model), '*', ...fields)
}
