import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { SettleResult } from './database/money.ts'

/** The results that raise an alarm. */
export const SETTLEMENT_ALARMS: readonly SettleResult[] = ['unknown', 'released', 'different']

export type BillingMetrics = ReturnType<typeof createMetrics>

/** What operators see. Anything counted as an alarm wants a person. */
export function createMetrics(registry: Registry, moneyCallsWaiting: () => number) {
  const registers = [registry]
  const waiting: Gauge = new Gauge({
    name: 'millrace_billing_money_calls_waiting',
    help: 'Money calls waiting for their batch',
    registers,
    collect: () => waiting.set(moneyCallsWaiting()),
  })
  const settlementAlarms = new Counter<'kind'>({
    name: 'millrace_billing_settlement_alarms_total',
    help: 'Settlements that should not exist, or that nobody can read',
    labelNames: ['kind'],
    registers,
  })
  // An alert watches the rise of a series, so each is there from the start.
  for (const kind of [...SETTLEMENT_ALARMS, 'unreadable']) settlementAlarms.inc({ kind }, 0)
  return {
    moneyCalls: new Counter({
      name: 'millrace_billing_money_calls_total',
      help: 'Money calls answered, by kind and answer',
      labelNames: ['kind', 'answer'] as const,
      registers,
    }),
    batchSize: new Histogram({
      name: 'millrace_billing_money_batch_size',
      help: 'Money calls in one transaction',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
      registers,
    }),
    clampedHolds: new Counter({
      name: 'millrace_billing_clamped_holds_total',
      help: 'Holds whose output was limited by the money available',
      registers,
    }),
    settlements: new Counter<'result'>({
      name: 'millrace_billing_settlements_total',
      help: 'Settlements taken from the streams, by result',
      labelNames: ['result'],
      registers,
    }),
    settlementAlarms,
    writtenOffCredits: new Counter({
      name: 'millrace_billing_written_off_credits_total',
      help: 'Cost that was not charged: no hold and no balance could pay it, or its hold had been released',
      registers,
    }),
    expiredHolds: new Counter({
      name: 'millrace_billing_expired_holds_total',
      help: 'Holds freed because no settlement came',
      registers,
    }),
    streamReplays: new Counter({
      name: 'millrace_billing_stream_replays_total',
      help: 'Times a settlement stream was read again because the database had gone back in time',
      registers,
    }),
    reconciliationRows: new Gauge<'question'>({
      name: 'millrace_billing_reconciliation_rows',
      help: 'Rows that contradict a question of the newest scheduled reconciliation; all must be zero',
      labelNames: ['question'],
      registers,
    }),
    reconciledAt: new Gauge({
      name: 'millrace_billing_reconciled_timestamp_seconds',
      help: 'When the newest scheduled reconciliation was made; 0: not known',
      registers,
    }),
    watermarkAge: createWatermarkAge(registers),
  }
}

/** Ages go on by themselves: whoever learns them may be waiting for a Redis that is away. */
function createWatermarkAge(registers: Registry[]) {
  const learned = new Map<string, { readonly ageMs: number; readonly atMs: number }>()
  const gauge: Gauge<'model'> = new Gauge({
    name: 'millrace_billing_watermark_age_seconds',
    help: 'How far the settled-for-certain time of a model lags behind Redis time; until that is known, how long it has been looked for',
    labelNames: ['model'],
    registers,
    collect() {
      const nowMs = performance.now()
      for (const [model, { ageMs, atMs }] of learned) gauge.set({ model }, (ageMs + nowMs - atMs) / 1000)
    },
  })
  const learn = (model: string, ageMs: number) => learned.set(model, { ageMs, atMs: performance.now() })
  return {
    /** The watermark of this model is looked for from now on, if it was not before. */
    lookFor(model: string): void {
      if (!learned.has(model)) learn(model, 0)
    },
    /** Sets the age that it has now. */
    learn,
    get: () => gauge.get(),
  }
}
