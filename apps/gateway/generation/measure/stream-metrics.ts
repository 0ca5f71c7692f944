import type { Counter, Registry } from '@prometheus-io/client'
import { DECLINE_REASONS } from '#libs/contracts/generation-event.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'

import { CREDIT_WAIT_ENDS, type CreditWaitEnd } from '../holds/credit-line.ts'
import { HOLD_GROWTHS, type HoldGrowth } from '../holds/grow-hold.ts'
import { HOME_WAIT_ENDS, type HomeWaitEnd } from '../dispatch/own-job.ts'

const RECOVERY_REASONS = [...DECLINE_REASONS, 'worker-dead', 'frames-lost', 'not-running']

export type StreamCounters = {
  /** `reason`: how the previous epoch ended. */
  readonly recoveries: Counter<'reason'>
  readonly resends: Counter
  readonly lateEvents: Counter
  readonly poisoned: Counter
  noteHoldGrowth(growth: HoldGrowth): void
  noteCreditWait(end: CreditWaitEnd): void
  noteHomeWait(end: HomeWaitEnd): void
}

export function createStreamCounters(registry: Registry): StreamCounters {
  const { counter } = declareMetrics(registry)
  const recoveries = counter({
    name: 'millrace_gateway_recoveries_total',
    help: 'Generations that were dispatched again, by what ended the epoch before',
    labelNames: ['reason'],
  })
  // Each counter exists from the start, so that the first recovery shows as an increase.
  for (const reason of RECOVERY_REASONS) recoveries.inc({ reason }, 0)
  const holdGrowths = counter({
    name: 'millrace_gateway_hold_growths_total',
    help: 'Requests to billing for larger holds of running generations, by their answer',
    labelNames: ['answer'],
  })
  for (const answer of HOLD_GROWTHS) holdGrowths.inc({ answer }, 0)
  const creditWaits = counter({
    name: 'millrace_gateway_credit_waits_total',
    help: 'Requests that waited for credits which other running requests held, by the end of their wait',
    labelNames: ['end'],
  })
  for (const end of CREDIT_WAIT_ENDS) creditWaits.inc({ end }, 0)
  const homeWaits = counter({
    name: 'millrace_gateway_home_waits_total',
    help: 'Waits of turns for the worker that has probably cached the earlier turns, or is calm, by their end',
    labelNames: ['end'],
  })
  for (const end of HOME_WAIT_ENDS) homeWaits.inc({ end }, 0)
  return {
    recoveries,
    noteHomeWait: (end) => homeWaits.inc({ end }),
    noteHoldGrowth: (answer) => holdGrowths.inc({ answer }),
    noteCreditWait: (end) => creditWaits.inc({ end }),
    resends: counter({
      name: 'millrace_gateway_resends_total',
      help: 'Requests to a worker to publish lost frames again',
    }),
    lateEvents: counter({
      name: 'millrace_gateway_late_events_total',
      help: 'Events of earlier epochs, foreign workers and ended streams, which were dropped',
    }),
    poisoned: counter({
      name: 'millrace_gateway_poisoned_total',
      help: 'Generations that were ended because two engines died of them',
    }),
  }
}

/** Measures the open streams of this gateway and their settlements; `http/request-metrics.ts` counts the requests. */
export function createStreamGauges(options: {
  registry: Registry
  openStreams: () => number
  settlements: () => { unanswered: number; kept: number }
  /** Returns the share of the bound on settlements that is in use; at 1 new work is refused. */
  settlementsFill: () => number
  busAwayMs: () => number
  models: () => readonly Pick<ModelSpec, 'id' | 'enabled'>[]
  /** Returns the prompt bytes of a model that wait in the queue Redis. Rejects while Redis does not answer. */
  waitingBytesOf: (model: string) => Promise<number>
}): void {
  const { gauge } = declareMetrics(options.registry)
  gauge({
    name: 'millrace_gateway_open_streams',
    help: 'Generations that wait for events now',
    read: options.openStreams,
  })
  gauge({
    name: 'millrace_gateway_held_settlements',
    help: 'Settlements in memory: without an answer of the queue Redis, or not yet known to be committed',
    labelNames: ['state'],
    read() {
      const { unanswered, kept } = options.settlements()
      return [
        [{ state: 'unanswered' }, unanswered],
        [{ state: 'kept' }, kept],
      ]
    },
  })
  gauge({
    name: 'millrace_gateway_held_settlements_ratio',
    help: 'Share of the memory for settlements that is in use, by number or bytes; at 1 new work is refused with 503',
    read: options.settlementsFill,
  })
  gauge({
    name: 'millrace_gateway_bus_away_seconds',
    help: 'For how long the bus has not echoed this gateway; 0 while it does',
    read: () => options.busAwayMs() / 1_000,
  })
  gauge({
    name: 'millrace_queue_waiting_bytes',
    help: 'Bytes of the requests that wait in the queue Redis; every gateway reports the same',
    labelNames: ['model'],
    async read() {
      const models = options.models().filter(({ enabled }) => enabled)
      const read = models.map(async ({ id }) => [{ model: id }, await options.waitingBytesOf(id)] as const)
      return await Promise.all(read).catch(() => [])
    },
  })
}
