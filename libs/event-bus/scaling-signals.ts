import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Logger } from '#libs/telemetry/logger.ts'
import { capacityChannel, demandChannel, modelStatesChannel } from './channels.ts'

/**
 * The messages about load that gateways, workers and scalers send each other once a second. They have their own
 * channels, because heartbeats also go to processes that do not need these messages. Counters count since the start of
 * the sender, so the next message makes up for a lost one. Readers ignore unknown fields.
 */

const count = z.int().min(0)

/** One model's load as one gateway sees it. */
const ModelDemand = z.object({
  /**
   * Requests that are not marked as a client's repetition. This counter and the next five count since the start of the
   * gateway.
   */
  fresh: count,
  /** Requests that a client library marks as the repetition of a request that was refused or failed. */
  repeated: count,
  accepted: count,
  /** Requests that were refused with `model_busy`. */
  busy: count,
  /** Requests that were refused because no worker was ready. */
  unserved: count,
  /** Requests that were queued while no worker was ready. They count as accepted, too. */
  awaited: count.default(0),
  /** The number of generations that no worker has claimed yet. */
  waiting: count,
  /** The estimated prompt tokens of the waiting generations. */
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

/**
 * `loading`: the worker is not connected to the engine, or the engine is not healthy yet. `ready`: the worker pulls
 * jobs. `cordoned`: it takes nothing more, runs what it has, and may come back. `draining`: it takes nothing more and
 * will stop. `sick`: the engine was restarted three times within ten minutes.
 */
export const WorkerPhase = z.enum(['loading', 'ready', 'cordoned', 'draining', 'sick'])
export type WorkerPhase = z.infer<typeof WorkerPhase>

/** A worker's message for one engine, also sent while the engine loads. */
export const Capacity = z.object({
  /** Boot id of the worker. */
  id: z.string(),
  /** WORKER_NAME; in Kubernetes the pod's name. */
  name: z.string(),
  /** The pod's uid. This field and the next two are null outside Kubernetes. */
  podUid: z.string().nullable(),
  node: z.string().nullable(),
  pool: z.string().nullable(),
  model: z.string(),
  phase: WorkerPhase,
  /** How many generations the engine runs at once; 0 until the engine has reported it. */
  slots: count,
  running: count,
  /** Mean time from claim to end of the last generations; null until a generation has ended. */
  meanGenerationMs: z.number().min(0).nullable(),
  /** Generations that ended since the start. The next three fields count tokens since the start. */
  ended: count,
  promptTokens: count,
  cachedTokens: count,
  outputTokens: count,
  /** The used part of the engine's KV cache in tokens, and its size. Null if the engine does not report them. */
  kvUsed: count.nullable(),
  kvCapacity: count.nullable(),
  /** How long the engine has been loading, in ms; null in other phases. */
  loadingMs: z.number().min(0).nullable(),
  /** The term of the scaler that cordoned the worker; null if no scaler did. */
  cordonTerm: count.nullable(),
  /** The engine's release and its servicer. Absent until the engine is connected, and from an earlier release. */
  engine: z.string().optional(),
})
export type Capacity = z.infer<typeof Capacity>

/**
 * `serving`: workers are ready. `warming`: no worker is ready; one is starting or will be started. `stopped`: the model
 * has no worker, and a request starts one. `starved`: no GPU was found for 10 min. `off`: no pool of the model may have
 * a worker: each pool either has the maximum 0, or has no replica and was paused by an operator.
 */
export const ModelState = z.object({
  model: z.string(),
  state: z.enum(['serving', 'warming', 'stopped', 'starved', 'off']),
  ready: count,
  target: count,
  /**
   * The predicted time until the next worker is ready, in ms; if no worker is starting, the duration of a start. Null
   * unless the state is `warming` or `stopped`.
   */
  etaMs: z.number().min(0).nullable(),
})
export type ModelState = z.infer<typeof ModelState>

/** The leading scaler's message: every model that it manages. */
export const ModelStates = z.object({ term: count, models: z.array(ModelState) })
export type ModelStates = z.infer<typeof ModelStates>

/** One kind of signal: its channel, which depends on the cell, and the schema of its messages. */
export type Signal<Message> = { readonly channel: () => string; readonly schema: z.ZodType<Message> }

export const DEMAND: Signal<Demand> = { channel: demandChannel, schema: Demand }
export const CAPACITY: Signal<Capacity> = { channel: capacityChannel, schema: Capacity }
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
