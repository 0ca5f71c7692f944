import { pino } from 'pino'
import {
  DEMAND,
  MODEL_STATES,
  publishSignal,
  subscribeSignal,
  type Demand,
  type ModelScale,
} from '#libs/event-bus/scaling-signals.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'

export type ScalerSignals = {
  /** All demands received so far, the oldest first. */
  demands: Demand[]
  /** Publishes one message about one model. Fields that are not given have the values of a model that is warming. */
  publishState(model: string, fields?: Partial<Omit<ModelScale, 'model'>>): Promise<void>
  /** As `publishState`, with the same fields for several models. */
  publishStates(models: readonly string[], fields?: Partial<Omit<ModelScale, 'model'>>): Promise<void>
  stop(): void
}

/** Opens a scaler's two connections to the bus, for tests that choose the published messages themselves. */
export async function connectScaler(url: string): Promise<ScalerSignals> {
  const log = pino({ level: 'silent' })
  const connect = async (name: string) =>
    await connectRedis({ place: { mode: 'single', url }, name, patience: 'patient', log })
  const [subscriber, publisher] = [await connect('scaler-subscriber'), await connect('scaler')]
  const demands: Demand[] = []
  await subscribeSignal({ subscriber, log }, DEMAND, (demand) => demands.push(demand))
  async function publishStates(
    models: readonly string[],
    fields: Partial<Omit<ModelScale, 'model'>> = {},
  ): Promise<void> {
    const state = { state: 'warming', ready: 0, target: 1, etaMs: 20_000, ...fields } as const
    const message = { term: 1, models: models.map((model) => ({ model, ...state })) }
    await publishSignal({ redis: publisher, log }, MODEL_STATES, message)
  }

  return {
    demands,
    publishState: async (model, fields) => await publishStates([model], fields),
    publishStates,
    stop() {
      subscriber.disconnect()
      publisher.disconnect()
    },
  }
}
