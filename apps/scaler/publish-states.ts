import type { Redis } from 'ioredis'
import { MODEL_STATES, publishSignal, type ModelScale } from '#libs/event-bus/scaling-signals.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

/** Publishes the states of all models on every server of the bus. Never rejects. */
export function createPublishStates(options: { buses: readonly Redis[]; log: Logger }) {
  return (term: number, states: readonly ModelScale[]): void => {
    const models = states.map(({ model, state, ready, target, etaMs }) => ({
      model,
      state,
      ready,
      target,
      etaMs,
    }))
    for (const redis of options.buses) {
      void publishSignal({ redis, log: options.log }, MODEL_STATES, { term, models })
    }
  }
}
