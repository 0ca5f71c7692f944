import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Logger } from '#libs/telemetry/logger.ts'
import { ordersChannel, workerChannel } from './channels.ts'
import { CountId } from './token-counts.ts'

/** A gateway's stream, up to and including an epoch. */
const StreamEpoch = z.object({ stream: z.int(), epoch: z.int() })
export type StreamEpoch = z.infer<typeof StreamEpoch>

/**
 * A gateway asks a worker whether the worker runs this stream. `nonce` is the nonce of the worker's claim, according to
 * the record; it is empty if the gateway does not know the nonce.
 */
const AskedStream = z.object({ stream: z.int(), epoch: z.int(), nonce: z.string() })
export type AskedStream = z.infer<typeof AskedStream>

/** The hold of a stream whose worker asked for a larger one. */
const AnsweredHold = StreamEpoch.extend({
  /** An int64 amount as text; the former amount if nothing more can be paid. */
  amountNano: z.string().regex(/^\d{1,19}$/),
  /** True if no larger hold will come. */
  isFinal: z.boolean(),
})
export type AnsweredHold = z.infer<typeof AnsweredHold>

/** The longest cordon of a scaler, which renews its cordons each second. */
const LONGEST_CORDON_MS = 600_000

/**
 * The value of the lock of the leading scaler, and the name of the scalers that share the lock. Only the leader and
 * processes that may read the lock in the queue Redis know the value.
 */
export type Lease = { readonly scaler: string; readonly holder: string }
const Lease = z.object({ scaler: z.string(), holder: z.string() })

/** The messages to one worker. Unknown fields and unknown types of messages are ignored. */
const WorkerControl = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stop'), gateway: z.string(), streams: z.array(StreamEpoch) }),
  z.object({ type: z.literal('resend'), gateway: z.string(), from: z.int() }),
  z.object({ type: z.literal('ask'), gateway: z.string(), streams: z.array(AskedStream) }),
  z.object({
    type: z.literal('acknowledge'),
    gateway: z.string(),
    number: z.int(),
    settled: z.array(z.int()),
  }),
  z.object({ type: z.literal('vectors-taken'), key: z.string() }),
  AnsweredHold.extend({ type: z.literal('hold'), gateway: z.string() }),
  CountId.extend({ type: z.literal('count') }),
  z.object({ type: z.literal('look'), model: z.string() }),
  z.object({ type: z.literal('drain') }),
  z
    .object({
      type: z.literal('cordon'),
      term: z.int().min(0).nullable(),
      forMs: z.number().positive().max(LONGEST_CORDON_MS).nullable(),
      lease: Lease.optional(),
    })
    // A scaler's cordon must end by itself, an operator's must not.
    .refine(({ term, forMs }) => (term === null) === (forMs === null)),
  z.object({
    type: z.literal('uncordon'),
    term: z.int().min(0).nullable(),
    lease: Lease.optional(),
  }),
])
type WorkerControl = z.infer<typeof WorkerControl>

type Sender = 'gateway' | 'scaler' | 'operator'

/** Returns the only kind of sender whose messages of this type count. */
function senderOf(message: WorkerControl): Sender {
  if (message.type === 'drain') return 'operator'
  if (message.type !== 'cordon' && message.type !== 'uncordon') return 'gateway'
  return message.term === null ? 'operator' : 'scaler'
}

const toChannel = (by: Sender, worker: string) =>
  by === 'gateway' ? workerChannel(worker) : ordersChannel(by, worker)

/**
 * The messages of a gateway to workers. Each call resolves with true when the message reached a subscriber. It never
 * rejects, because the gateway sends each message except `count` and `look` again as long as there is a reason for it.
 */
export type ControlSender = {
  /** Asks the worker to stop these streams, up to and including the epoch. */
  stop(worker: string, streams: readonly StreamEpoch[]): Promise<boolean>
  /** Asks the worker to publish the kept frames from this number on again. */
  resend(worker: string, from: number): Promise<boolean>
  /** Asks the worker to answer with a pulse that lists these streams. */
  ask(worker: string, streams: readonly AskedStream[]): Promise<boolean>
  /** Reports that the frames up to `number` have arrived and that the `settled` streams need not be kept any longer. */
  acknowledge(worker: string, number: number, settled: readonly number[]): Promise<boolean>
  /** Reports that the vectors of this key have arrived. */
  vectorsTaken(worker: string, key: string): Promise<boolean>
  /** Answers a `generation-short`. */
  hold(worker: string, answered: AnsweredHold): Promise<boolean>
  /** Asks the worker to count the tokens of a prompt; not sent again. */
  count(worker: string, count: Omit<CountId, 'gateway'>): Promise<boolean>
  /** Asks the worker to claim a generation of this model if it has a free slot, because it is the home of one. */
  look(worker: string, model: string): Promise<boolean>
}

/** `onNoSubscriber` is called when a message reached no subscriber: the worker may be dead. */
export function createControlSender(options: {
  redis: Redis
  gateway: string
  onNoSubscriber: (worker: string) => void
  log: Logger
}): ControlSender {
  const { redis, gateway, onNoSubscriber, log } = options

  async function send(worker: string, message: WorkerControl): Promise<boolean> {
    try {
      if ((await publish(redis, worker, message)) > 0) return true
      onNoSubscriber(worker)
    } catch (error) {
      // While the bus is away, nearly every request has a look that is not sent. Its sender counts it.
      if (message.type !== 'look')
        log.warn({ err: error, peer: worker, message: message.type }, 'control message not sent')
    }
    return false
  }

  return {
    stop: async (worker, streams) =>
      await send(worker, {
        type: 'stop',
        gateway,
        streams: streams.map(({ stream, epoch }) => ({ stream, epoch })),
      }),
    resend: async (worker, from) => await send(worker, { type: 'resend', gateway, from }),
    ask: async (worker, streams) => await send(worker, { type: 'ask', gateway, streams: [...streams] }),
    acknowledge: async (worker, number, settled) =>
      await send(worker, { type: 'acknowledge', gateway, number, settled: [...settled] }),
    vectorsTaken: async (worker, key) => await send(worker, { type: 'vectors-taken', key }),
    hold: async (worker, answered) => await send(worker, { type: 'hold', gateway, ...answered }),
    count: async (worker, count) => await send(worker, { type: 'count', gateway, ...count }),
    look: async (worker, model) => await send(worker, { type: 'look', model }),
  }
}

/** Asks `worker` to drain, on behalf of an operator. Resolves with true if a subscriber received the message. */
export async function sendDrain(redis: Redis, worker: string): Promise<boolean> {
  return (await publish(redis, worker, { type: 'drain' })) > 0
}

/**
 * Cordons `worker`: it takes nothing more and runs what it has. Resolves with true if a subscriber received the
 * message. A scaler gives its term, its lease and a duration of at most 10 min, and renews its cordon. For an operator
 * `term` and `forMs` are null, and the cordon lasts until `sendUncordon`. A worker ignores other combinations of `term`
 * and `forMs`.
 */
export async function sendCordon(
  redis: Redis,
  worker: string,
  cordon: { term: number | null; forMs: number | null; lease?: Lease },
): Promise<boolean> {
  return (await publish(redis, worker, { type: 'cordon', ...cordon })) > 0
}

/**
 * Ends a cordon. `term` is a scaler's term: the cordon ends if a scaler gave it in this term or in an earlier one. With
 * null, the operator's cordon ends. Resolves like `sendCordon`.
 */
export async function sendUncordon(
  redis: Redis,
  worker: string,
  uncordon: { term: number | null; lease?: Lease },
): Promise<boolean> {
  return (await publish(redis, worker, { type: 'uncordon', ...uncordon })) > 0
}

async function publish(redis: Redis, worker: string, message: WorkerControl): Promise<number> {
  return await redis.publish(toChannel(senderOf(message), worker), JSON.stringify(message))
}

/** A worker's handlers of these messages; `settled` of `onAcknowledge` are streams of the gateway. */
export type ControlHandlers = {
  /** Resolves with whether the lock of these scalers has this value now. */
  isHeld: (lease: Lease) => Promise<boolean>
  onStop: (gateway: string, streams: readonly StreamEpoch[]) => void
  onResend: (gateway: string, from: number) => void
  onAsk: (gateway: string, streams: readonly AskedStream[]) => void
  onAcknowledge: (gateway: string, number: number, settled: readonly number[]) => void
  onVectorsTaken: (key: string) => void
  onHold: (gateway: string, answered: AnsweredHold) => void
  onCount: (count: CountId) => void
  onLook: (model: string) => void
  onDrain: () => void
  /** The term is null for an operator's cordon, which has no end of its own. */
  onCordon: (term: number | null, forMs: number | null) => void
  onUncordon: (term: number | null) => void
}

/**
 * Subscribes to this worker's own channels. A message counts only on the channel of its kind of sender. A scaler's
 * message counts only while `isHeld` resolves with true for its lease.
 */
export async function subscribeControl(
  options: { subscriber: Redis; worker: string; log: Logger } & ControlHandlers,
): Promise<void> {
  const { subscriber, worker, log } = options
  const senders = (['gateway', 'scaler', 'operator'] as const).map(
    (by) => [toChannel(by, worker), by] as const,
  )
  const byChannel = new Map(senders)
  subscriber.on('message', (from: string, text: string) => {
    const sender = byChannel.get(from)
    if (sender === undefined) return
    const message = readControl(text)
    if (message === null) log.warn({ characters: text.length }, 'unknown control message')
    else if (senderOf(message) !== sender)
      log.warn({ sender, message: message.type }, 'control message of a sender that may not send it')
    else if (sender === 'scaler') void obeyScaler(message)
    else handle(message, options)
  })
  await subscriber.subscribe(...byChannel.keys())

  async function obeyScaler(message: WorkerControl) {
    const { term, lease } = 'term' in message ? message : { term: null, lease: undefined }
    try {
      const isLeader = lease?.holder.startsWith(`${term} `) === true && (await options.isHeld(lease))
      if (isLeader) handle(message, options)
      else log.warn({ term }, 'order of a scaler that does not lead')
    } catch (error) {
      log.warn({ err: error, term }, 'the lease of a scaler was not read')
    }
  }
}

function handle(message: WorkerControl, handlers: ControlHandlers): void {
  switch (message.type) {
    case 'stop':
      return handlers.onStop(message.gateway, message.streams)
    case 'resend':
      return handlers.onResend(message.gateway, message.from)
    case 'ask':
      return handlers.onAsk(message.gateway, message.streams)
    case 'acknowledge':
      return handlers.onAcknowledge(message.gateway, message.number, message.settled)
    case 'vectors-taken':
      return handlers.onVectorsTaken(message.key)
    case 'hold':
      return handlers.onHold(message.gateway, message)
    case 'count':
      return handlers.onCount(message)
    case 'look':
      return handlers.onLook(message.model)
    case 'drain':
      return handlers.onDrain()
    case 'cordon':
      return handlers.onCordon(message.term, message.forMs)
    case 'uncordon':
      return handlers.onUncordon(message.term)
  }
}

function readControl(text: string): WorkerControl | null {
  try {
    return WorkerControl.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
