import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Logger } from '#libs/telemetry/logger.ts'
import { CAPACITY_CHANNEL, DEMAND_CHANNEL, MODEL_STATES_CHANNEL } from './channels.ts'

/**
 * The messages about load that gateways, workers and scalers send each other once a second. The channels are their own
 * because heartbeats go to every process. Counters count since the start of the sender, so that a lost message heals
 * with the next one. Readers ignore fields that they do not know.
 */

const count = z.int().min(0)

/** One model's load as one gateway sees it. */
const ModelDemand = z.object({
  /** Requests that are not marked as a client's repetition; counted since the start, as the next four. */
  fresh: count,
  /** Requests that a client's library marks as a repetition of one that was refused or failed. */
  repeated: count,
  accepted: count,
  /** Refused with `model_busy`. */
  busy: count,
  /** Refused because no worker was ready. */
  unserved: count,
  /** Generations that no worker has claimed, now. */
  waiting: count,
  /** Their estimated prompt tokens. */
  waitingTokens: count,
  /** How long ago a request was refused because no worker was ready, in ms; null when not within the last minute. */
  unservedAgoMs: z.number().min(0).nullable(),
})
export type ModelDemand = z.infer<typeof ModelDemand>

/** From a gateway: the models that were asked for within the last minute. */
export const Demand = z.object({
  /** Boot id of the gateway. */
  id: z.string(),
  openStreams: count,
  /** 99th percentile of the event loop's delay over the last seconds, in ms. */
  loopDelayMs: z.number().min(0),
  models: z.record(z.string(), ModelDemand),
})
export type Demand = z.infer<typeof Demand>

/**
 * loading: not connected to its engine yet, or the engine is not healthy yet. ready: pulls. cordoned: takes nothing
 * more, runs what it has, may come back. draining: takes nothing more and is to stop. sick: its engine was restarted
 * three times within ten minutes.
 */
export const WorkerPhase = z.enum(['loading', 'ready', 'cordoned', 'draining', 'sick'])
export type WorkerPhase = z.infer<typeof WorkerPhase>

/** From a worker, one for each engine; also while the engine loads. */
export const Capacity = z.object({
  /** Boot id of the worker. */
  id: z.string(),
  /** WORKER_NAME; in Kubernetes the pod's name. */
  name: z.string(),
  /** Null outside Kubernetes, as the next three. */
  podUid: z.string().nullable(),
  node: z.string().nullable(),
  pool: z.string().nullable(),
  model: z.string(),
  phase: WorkerPhase,
  /** 0 as long as the engine has not said how many it runs at once. */
  slots: count,
  running: count,
  /** Mean time from claim to end of the last generations; null before the first one ended. */
  meanGenerationMs: z.number().min(0).nullable(),
  /** Generations and tokens since the start. */
  ended: count,
  promptTokens: count,
  cachedTokens: count,
  outputTokens: count,
  /** In tokens, as the engine reports them; null where it does not. */
  kvUsed: count.nullable(),
  kvCapacity: count.nullable(),
  /** For how long it has been loading, in ms; null in other phases. */
  loadingMs: z.number().min(0).nullable(),
  /** The term of the scaler that cordoned it; null when none did. */
  cordonTerm: count.nullable(),
})
export type Capacity = z.infer<typeof Capacity>

/**
 * serving: workers are ready. warming: none is ready, one is starting or will be. stopped: at zero, and a request starts
 * one. starved: no GPU was found for 10 min. off: the model may have no worker.
 */
export const ModelState = z.object({
  model: z.string(),
  state: z.enum(['serving', 'warming', 'stopped', 'starved', 'off']),
  ready: count,
  target: count,
  /** Until the next worker is ready, as predicted, in ms; null where none is starting. */
  etaMs: z.number().min(0).nullable(),
})
export type ModelState = z.infer<typeof ModelState>

/** From the leading scaler: every model that it manages. */
export const ModelStates = z.object({ term: count, models: z.array(ModelState) })
export type ModelStates = z.infer<typeof ModelStates>

/** One kind of signal: its channel and the schema of its messages. */
export type Signal<Message> = { readonly channel: string; readonly schema: z.ZodType<Message> }

export const DEMAND: Signal<Demand> = { channel: DEMAND_CHANNEL, schema: Demand }
export const CAPACITY: Signal<Capacity> = { channel: CAPACITY_CHANNEL, schema: Capacity }
export const MODEL_STATES: Signal<ModelStates> = { channel: MODEL_STATES_CHANNEL, schema: ModelStates }

/** Publishes one message. Never rejects: the next second brings the next one. */
export async function publishSignal<Message>(
  options: { redis: Redis; log: Logger },
  signal: Signal<Message>,
  message: Message,
): Promise<void> {
  try {
    await options.redis.publish(signal.channel, JSON.stringify(message))
  } catch (error) {
    options.log.warn({ err: error, channel: signal.channel }, 'signal not sent')
  }
}

/**
 * Subscribes to one kind of signal on a subscriber connection, which may have other subscriptions. Messages that cannot
 * be read, for example of another release, are dropped and logged at debug level.
 */
export async function subscribeSignal<Message>(
  options: { subscriber: Redis; log: Logger },
  signal: Signal<Message>,
  onMessage: (message: Message) => void,
): Promise<void> {
  const { channel, schema } = signal
  options.subscriber.on('message', (from: string, text: string) => {
    if (from !== channel) return
    const message = read(schema, text)
    if (message === null) options.log.debug({ channel }, 'signal not understood')
    else onMessage(message)
  })
  await options.subscriber.subscribe(channel)
}

function read<Message>(schema: z.ZodType<Message>, text: string): Message | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
