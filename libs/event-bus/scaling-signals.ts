import type { Redis } from 'ioredis'
import { z } from 'zod'
import { ScaledState } from '#libs/contracts/model-state.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { demandChannel, modelStatesChannel } from './channels.ts'

/**
 * The messages that gateways send to scalers about their load, and scalers to gateways, once a second. Workers describe
 * their load in their heartbeats (`heartbeat.ts`). Counters count since the start of the sender, so the next message
 * makes up for a lost one. Readers ignore unknown fields.
 */

const count = z.int().min(0)

/** One model's load as one gateway sees it. */
const ModelDemand = z.object({
  /**
   * Requests that are not marked as a client's repetition. This counter and the next three count since the start of the
   * gateway.
   */
  fresh: count,
  /** Requests that a client library marks as the repetition of a request that was refused or failed. */
  repeated: count,
  /** Requests that were refused with `model_busy`, or because no worker was ready. */
  refused: count,
  /** Requests that found no ready worker: they were refused, or were queued to wait for the model's start. */
  unserved: count,
  /** The estimated prompt tokens of the generations that no worker has claimed yet. */
  waitingTokens: count,
  /**
   * How long ago a request was refused because no worker was ready, in ms; null if that did not happen in the last
   * minute.
   */
  unservedAgoMs: z.number().min(0).nullable(),
})
export type ModelDemand = z.infer<typeof ModelDemand>

/** A gateway's message: the models that were requested within the last minute. */
export const Demand = z.object({
  /** Boot id of the gateway. */
  id: z.string(),
  openStreams: count,
  /** 99th percentile of the event loop's delay over the last seconds, in ms. */
  loopDelayMs: z.number().min(0),
  models: z.record(z.string(), ModelDemand),
})
export type Demand = z.infer<typeof Demand>

/** The state and the size of one model, as the leading scaler reports them. */
export const ModelScale = z.object({
  model: z.string(),
  state: ScaledState,
  ready: count,
  target: count,
  /**
   * The predicted time until the next worker is ready, in ms; if no worker is starting, the duration of a start. Null
   * unless the state is `warming` or `stopped`.
   */
  etaMs: z.number().min(0).nullable(),
})
export type ModelScale = z.infer<typeof ModelScale>

/** The leading scaler's message: every model that it manages. */
export const ModelStates = z.object({ term: count, models: z.array(ModelScale) })
export type ModelStates = z.infer<typeof ModelStates>

/** The connections of a process to one server of the bus. */
export type BusServer = { readonly bus: Redis; readonly subscriber: Redis }

/** One kind of signal: its channel, which depends on the cell, and the schema of its messages. */
export type Signal<Message> = { readonly channel: () => string; readonly schema: z.ZodType<Message> }

export const DEMAND: Signal<Demand> = { channel: demandChannel, schema: Demand }
export const MODEL_STATES: Signal<ModelStates> = { channel: modelStatesChannel, schema: ModelStates }

/** Publishes one message. Never rejects, because the next message follows a second later. */
export async function publishSignal<Message>(
  options: { redis: Redis; log: Logger },
  signal: Signal<Message>,
  message: Message,
): Promise<void> {
  try {
    await options.redis.publish(signal.channel(), JSON.stringify(message))
  } catch (error) {
    options.log.warn({ err: error, channel: signal.channel() }, 'signal not sent')
  }
}

/**
 * Subscribes to one kind of signal on a subscriber connection, which may have other subscriptions. Unreadable messages,
 * for example from another version of Millrace, are dropped and logged at debug level.
 */
export async function subscribeSignal<Message>(
  options: { subscriber: Redis; log: Logger },
  signal: Signal<Message>,
  onMessage: (message: Message) => void,
): Promise<void> {
  const { schema } = signal
  const channel = signal.channel()
  options.subscriber.on('message', (from: string, text: string) => {
    if (from !== channel) return
    const message = readSignal(schema, text)
    if (message === null) options.log.debug({ channel }, 'signal not understood')
    else onMessage(message)
  })
  await options.subscriber.subscribe(channel)
}

/** Returns null for text that is no message of this schema. */
export function readSignal<Message>(schema: z.ZodType<Message>, text: string): Message | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
