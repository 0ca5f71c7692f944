import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Money } from '../database/money.ts'
import type { BillingMetrics } from '../metrics.ts'
import { consumeSettlements } from './consume-settlements.ts'
import { createSettleEntries } from './settle-entries.ts'
import { createSettlementStreams } from './settlement-streams.ts'
import { sweep } from './sweep.ts'

/** Should be longer than a read blocks, so that a read in good order ends and nothing it got stays unacknowledged. */
const STOP_LIMIT_MS = 3_000

/**
 * Takes settlements and sweeps behind them until stopped. Owns both connections from now on; `blocking` must not be
 * used by anything else. `consumer` names this process among billing's replicas and is never used again after it.
 *
 * Returns how to stop: the batch in hand is finished, then the connections are closed.
 */
export function runSettlements(options: {
  redis: Redis
  blocking: Redis
  consumer: string
  money: Money
  models: () => readonly string[]
  metrics: BillingMetrics
  log: Logger
  /** From when on another consumer's entry is taken for abandoned. */
  claimIdleMs: number
  /** How long a read of the streams waits. */
  blockMs: number
  sweepEveryMs: number
}): () => Promise<void> {
  const { redis, blocking, consumer, money, models, metrics, log, claimIdleMs, blockMs, sweepEveryMs } =
    options
  const streams = createSettlementStreams({ redis, blocking, consumer })
  const settle = createSettleEntries({ money, metrics, log })
  const consuming = consumeSettlements({ streams, models, settle, claimIdleMs, blockMs, metrics, log })
  const sweeping = sweep({
    streams,
    money,
    models,
    onStuck: consuming.requestClaim,
    everyMs: sweepEveryMs,
    metrics,
    log,
  })

  async function leave() {
    await Promise.all([consuming.stop(), sweeping.stop()])
    await streams.leave(models())
  }

  return async () => {
    const left = leave().catch((error: unknown) => {
      log.warn({ err: error }, 'could not leave the settlement streams in good order')
    })
    await Promise.race([left, sleep(STOP_LIMIT_MS, undefined, { ref: false })])
    // What still waits for a Redis that is away never resolves, and is of no use to anyone.
    streams.disconnect()
  }
}
