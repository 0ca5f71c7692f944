import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Tracing } from '#libs/telemetry/tracing.ts'
import type { Money } from '../money/money.ts'
import type { BillingMetrics } from '../metrics.ts'
import type { Receipts } from '../money/receipts.ts'
import { createCheckProof } from './check-proof.ts'
import { consumeSettlements } from './consume-settlements.ts'
import { createSettleEntries } from './settle-entries.ts'
import { createSettlementStreams } from './settlement-streams.ts'
import { sweep } from './sweep.ts'
import type { TimingWriter } from './write-timings.ts'

/** The longest time for the last batch and for the removal of this consumer from the streams. */
const STOP_LIMIT_MS = 3_000

/**
 * Consumes the settlements of all models, and sweeps their streams (`sweep.ts`), until the returned function is called.
 * Nothing else may use the connection `redis`, because it is closed at the end. `consumer` is this process's name among
 * billing's replicas. No later process may have the same name.
 *
 * The returned function stops the consumption and the sweeps. It waits until the current batch has ended and this
 * consumer is removed from the streams, but at most `STOP_LIMIT_MS`. Then it closes the connection.
 */
export function runSettlements(options: {
  /** A client whose commands fail when Redis does not answer for seconds. */
  redis: Redis | Cluster
  consumer: string
  money: Money
  receipts: Receipts
  timings: TimingWriter
  models: () => readonly string[]
  metrics: BillingMetrics
  tracing: Tracing
  log: Logger
  /** The time after which an unacknowledged entry of another consumer counts as abandoned. */
  claimIdleMs: number
  /** The pause after a read of all streams that returned no entries. */
  readPauseMs: number
  /** The time for which a batch that is not full waits for more entries. */
  gatherMs: number
  sweepEveryMs: number
  /** The time between two observations of an idle stream. */
  idleSweepEveryMs: number
}): () => Promise<void> {
  const { redis, consumer, money, receipts, timings, models, metrics, tracing, log } = options
  const { claimIdleMs, readPauseMs, gatherMs, sweepEveryMs, idleSweepEveryMs } = options
  const streams = createSettlementStreams({ redis, consumer })
  const settle = createSettleEntries({ money, timings, metrics, tracing, log })
  const consuming = consumeSettlements({
    streams,
    models,
    checkProof: createCheckProof({ receipts, isGatewayAlive: streams.isGatewayAlive }),
    settle,
    onEntry: (model) => sweeping.touch(model),
    claimIdleMs,
    readPauseMs,
    gatherMs,
    metrics,
    log,
  })
  const sweeping = sweep({
    streams,
    money,
    models,
    onStuck: consuming.requestClaim,
    everyMs: sweepEveryMs,
    idleEveryMs: idleSweepEveryMs,
    metrics,
    log,
  })

  async function leave() {
    await Promise.all([consuming.stop(), sweeping.stop()])
    await timings.drain()
    await Promise.all(models().map(streams.leave))
  }

  return async () => {
    const left = leave().catch((error: unknown) => {
      log.warn({ err: error }, 'could not leave the settlement streams in good order')
    })
    await Promise.race([left, sleep(STOP_LIMIT_MS, undefined, { ref: false })])
    // While Redis is unavailable, waiting commands would never resolve.
    streams.disconnect()
  }
}
