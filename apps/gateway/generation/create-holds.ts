import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createCreditLine } from './holds/credit-line.ts'
import { createInputEstimate, type InputEstimate } from './estimates/estimate-input.ts'
import { createExpectedOutput, type ExpectedOutput } from './estimates/expected-output.ts'
import { createGrowHold, type GrowHold } from './holds/grow-hold.ts'
import { createReserve, type ReleaseHold, type Reserve, type Shortage } from './holds/reserve.ts'
import { createRunningHolds, type RunningHolds } from './holds/running-holds.ts'
import type { StreamCounters } from './measure/stream-metrics.ts'

/** The functions that reserve holds and let them grow, and the estimates that they use. */
export type Holds = {
  readonly reserve: Reserve
  readonly growHold: GrowHold
  readonly inputEstimate: InputEstimate
  readonly expectedOutput: ExpectedOutput
  readonly enterHold: RunningHolds['enter']
  /** Ends the waits for credits, because the gateway stops. */
  readonly stopWaits: () => void
}

export function createHolds(deps: {
  billing: Pick<BillingClient, 'reserve' | 'resize'>
  releaseHold: ReleaseHold
  toQueueMs: (ownMs: number) => number
  onShortage: Parameters<typeof createReserve>[0]['onShortage']
  /** The longest time that a request waits for credits that other requests hold. */
  creditWaitMs: number
  control: Pick<ControlSender, 'hold'>
  /** A clock that never goes back. */
  nowMs: () => number
  metrics: Pick<StreamCounters, 'noteHoldGrowth' | 'noteCreditWait'>
  log: Logger
}): Holds {
  const { creditWaitMs, control, metrics, log, ...reserving } = deps
  const inputEstimate = createInputEstimate()
  const expectedOutput = createExpectedOutput()
  const runningHolds = createRunningHolds({ expectedOutput, nowMs: deps.nowMs })
  const creditLine = createCreditLine<Shortage>({
    limitMs: creditWaitMs,
    onEnd: metrics.noteCreditWait,
    nowMs: deps.nowMs,
  })
  return {
    stopWaits: creditLine.stop,
    inputEstimate,
    expectedOutput,
    enterHold: runningHolds.enter,
    reserve: createReserve({
      ...reserving,
      inputEstimate,
      expectedOutput,
      creditLine,
      runningHolds,
    }),
    growHold: createGrowHold({
      billing: deps.billing,
      answerHold: (worker, answered) => void control.hold(worker, answered),
      onGrowth: metrics.noteHoldGrowth,
      log,
    }),
  }
}
