import type { Gauge, Registry } from '@prometheus-io/client'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'

/** The results of settlements that raise an alarm. */
export const SETTLEMENT_ALARMS: readonly string[] = ['unknown', 'released', 'different']

export type BillingMetrics = ReturnType<typeof createMetrics>

/** Billing's metrics. An operator should look into everything that counts as an alarm. */
export function createMetrics(registry: Registry, moneyCallsWaiting: () => number) {
  const { counter, gauge, histogram } = declareMetrics(registry)
  /** A gauge without a value until it is set; the library would begin with 0. */
  const unknown = (metric: { name: string; help: string }): Gauge => {
    const unset = gauge(metric)
    unset.remove()
    return unset
  }
  gauge({
    name: 'millrace_billing_money_calls_waiting',
    help: 'Money calls waiting for their batch',
    read: moneyCallsWaiting,
  })
  const settlementAlarms = counter({
    name: 'millrace_billing_settlement_alarms_total',
    help: 'Settlements that should not exist, or cannot be read',
    labelNames: ['kind'],
  })
  // An alert watches the increase of a series, so each series exists from the start.
  for (const kind of [...SETTLEMENT_ALARMS, 'dead-letter', 'unproven']) settlementAlarms.inc({ kind }, 0)
  return {
    moneyCalls: counter({
      name: 'millrace_billing_money_calls_total',
      help: 'Money calls answered, by kind and answer',
      labelNames: ['kind', 'answer'],
    }),
    batchSize: histogram({
      name: 'millrace_billing_money_batch_size',
      help: 'Money calls in one transaction',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    }),
    databaseSeconds: histogram({
      name: 'millrace_billing_database_seconds',
      help: 'Duration of the money functions in the database, with the way there and back, by function; failed ones too',
      labelNames: ['call'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 6],
    }),
    openHolds: unknown({
      name: 'millrace_billing_open_holds',
      help: 'Open holds of all accounts, counted by each replica; absent while it is not known',
    }),
    oldestHold: unknown({
      name: 'millrace_billing_oldest_hold_seconds',
      help: 'Age of the oldest open hold; 0: there is none; absent while it is not known',
    }),
    clampedHolds: counter({
      name: 'millrace_billing_clamped_holds_total',
      help: 'Holds whose output was limited by the money available',
    }),
    settlements: counter({
      name: 'millrace_billing_settlements_total',
      help: 'Settlements taken from the streams, by result',
      labelNames: ['result'],
    }),
    settlementAlarms,
    chargedCredits: counter({
      name: 'millrace_billing_charged_credits_total',
      help: 'Credits charged for generations, by model',
      labelNames: ['model'],
    }),
    chargedFailures: counter({
      name: 'millrace_billing_charged_failures_total',
      help: 'Failed generations that were charged, because their account had used up its free tokens of the hour',
    }),
    writtenOffCredits: counter({
      name: 'millrace_billing_written_off_credits_total',
      help: 'Cost that was not charged: no hold and no balance could pay it, or its hold had been released',
    }),
    expiredHolds: counter({
      name: 'millrace_billing_expired_holds_total',
      help: 'Holds freed because no settlement came',
    }),
    streamReplays: counter({
      name: 'millrace_billing_stream_replays_total',
      help: 'Times a settlement stream was read again because the database had gone back in time',
    }),
    clockJumps: counter({
      name: 'millrace_billing_queue_clock_jumps_total',
      help: 'Times that the clock of a queue Redis jumped, by more than 5 s, as this replica saw it, for each model',
    }),
    streamLosses: counter({
      name: 'millrace_billing_stream_losses_total',
      help: 'Times entries vanished from a settlement stream although its Redis server ran on',
    }),
    queueEvicts: unknown({
      name: 'millrace_billing_queue_evicts',
      help: '1 unless the queue Redis says that it evicts nothing; absent while it does not answer',
    }),
    queueVolatile: unknown({
      name: 'millrace_billing_queue_volatile',
      help: '1 unless the queue Redis says that it writes an append-only file; absent while it does not answer',
    }),
    deadLetters: createDeadLetters(registry),
    reconciliationRows: gauge({
      name: 'millrace_billing_reconciliation_rows',
      help: 'Rows that contradict a question of the newest scheduled reconciliation; all must be zero',
      labelNames: ['question'],
    }),
    reconciledAt: gauge({
      name: 'millrace_billing_reconciled_timestamp_seconds',
      help: 'When the newest scheduled reconciliation was made; 0: not known',
    }),
    watermarkAge: createWatermarkAge(registry),
  }
}

function createDeadLetters(registry: Registry) {
  const counts = new Map<string, number>()
  declareMetrics(registry).gauge({
    name: 'millrace_billing_dead_letters',
    help: 'Settlements of a model that could not be read or settled, and wait for an operator',
    labelNames: ['model'],
    read: () => [...counts].map(([model, count]) => [{ model }, count]),
  })
  return {
    set: (model: string, count: number) => void counts.set(model, count),
    /** The number of dead letters of each model, as observed last. */
    counts: (): ReadonlyMap<string, number> => counts,
  }
}

/**
 * Creates the gauge of watermark ages. Between two calls of `set`, the age of a model's watermark grows with time, also
 * while Redis is unavailable and `set` is not called.
 */
function createWatermarkAge(registry: Registry) {
  const measured = new Map<string, { readonly ageMs: number; readonly atMs: number }>()
  function ages(): Map<string, number> {
    const nowMs = performance.now()
    return new Map([...measured].map(([model, { ageMs, atMs }]) => [model, ageMs + nowMs - atMs]))
  }
  const gauge = declareMetrics(registry).gauge({
    name: 'millrace_billing_watermark_age_seconds',
    help: 'How far the watermark of a model lags behind Redis time; while there is none, the time since the first observation',
    labelNames: ['model'],
    read: () => [...ages()].map(([model, ageMs]) => [{ model }, ageMs / 1000]),
  })
  const set = (model: string, ageMs: number) => measured.set(model, { ageMs, atMs: performance.now() })
  return {
    /** Starts the age of this model's watermark, unless it has one. */
    start(model: string): void {
      if (!measured.has(model)) set(model, 0)
    },
    /** Sets the age at this moment. */
    set,
    get: () => gauge.get(),
    /** Returns the ages in milliseconds, by model. */
    ages,
  }
}
