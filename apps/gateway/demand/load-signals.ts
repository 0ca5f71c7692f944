import type { Redis } from 'ioredis'
import { DEMAND, MODEL_STATES, publishSignal, subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createDemand, type Demand } from './demand.ts'
import { createDemandPublisher } from './demand-publisher.ts'
import { createLoopDelay } from './loop-delay.ts'
import { createModelStates, type KnownModelStates } from './model-states.ts'

/** This gateway's signals to scalers, and the scalers' signals to it. */
export type LoadSignals = {
  readonly demand: Demand
  readonly modelStates: KnownModelStates
  /** True if the event loop was late at the last tick. */
  isLate(): boolean
  /** Publishes the demand. Must be called each second. */
  tick(): void
  close(): void
}

/**
 * Subscribes to the states of the models, and resolves when the subscription has begun. The demand is published in each
 * call of `tick`. It is also published within 100 ms after each request that finds no ready worker of its model, and
 * for this reason is refused or begins to wait for the model's start. Without a scaler the messages reach no
 * subscriber.
 */
export async function createLoadSignals(deps: {
  bus: Redis
  subscriber: Redis
  /** Boot id of this gateway. */
  gateway: string
  openStreams: () => number
  /** A monotonic clock. */
  nowMs: () => number
  log: Logger
}): Promise<LoadSignals> {
  const { bus, subscriber, gateway, openStreams, nowMs, log } = deps
  const modelStates = createModelStates(nowMs)
  await subscribeSignal({ subscriber, log }, MODEL_STATES, modelStates.apply)

  const loopDelay = createLoopDelay()
  const demand = createDemand({ onUnserved: () => publisher.publishSoon(), nowMs })
  const publisher = createDemandPublisher({
    publish() {
      const message = {
        id: gateway,
        openStreams: openStreams(),
        loopDelayMs: loopDelay.p99Ms(),
        models: demand.read(),
      }
      void publishSignal({ redis: bus, log }, DEMAND, message)
    },
    nowMs,
  })
  return {
    demand,
    modelStates,
    isLate: loopDelay.isLate,
    tick() {
      loopDelay.tick()
      publisher.tick()
    },
    close() {
      publisher.close()
      loopDelay.close()
    },
  }
}
